//! The loop of a member: waits for sockets and timers, lets processes handle what has happened, sends what
//! they say.
//!
//! One thread, in turns. In a turn each port brings one batch of datagrams, processes handle a bounded number
//! of events, and everything that they have sent leaves together at its end: under load batches grow by
//! themselves.

mod books;
mod receive;

use crate::clock::{self, Clock};
use crate::datagrams::Datagrams;
use crate::handle::{Command, Handle};
use crate::pace::Pace;
use crate::report::{Counters, End, Progress, Report};
use crate::settings::Settings;
use crate::streams::{Inbox, Streams, World};
use crate::table::Table;
use crate::task::Tasks;
use crate::timers::Timers;
use process::{Event, HostId, Process};
use rand_pcg::Pcg64;
use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::epoll::{Epoll, Ready};
use sys::signal::Requests;
use units::Time;

/// Tokens that mean no stream have the top bit.
const TOKEN_HANDLE: u64 = 1 << 63;
const TOKEN_SIGNAL: u64 = TOKEN_HANDLE + 1;
const TOKEN_LISTENERS: u64 = TOKEN_HANDLE + 2;
/// Clocks of members may differ by this much without anybody missing what a faster one sends.
const GRACE: Time = Time::from_secs(1);

/// A process and what belongs to it.
pub(crate) struct Slot {
    pub job: u32,
    /// The run waits for it.
    pub awaited: bool,
    pub start: Time,
    /// Absent while it is handling an event.
    pub process: Option<Box<dyn Process>>,
    pub rng: Pcg64,
    pub finished: Option<Time>,
}

/// A member that runs.
pub(crate) struct Driver {
    pub host: HostId,
    pub clock: Clock,
    /// The time, once the event at hand has asked for it.
    pub now: Cell<Option<Time>>,
    pub table: Table,
    pub slots: Vec<Slot>,
    pub datagrams: Datagrams,
    pub streams: Streams,
    pub timers: Timers,
    /// With `Settings::paced`.
    pub pace: Option<Pace>,
    pub tasks: Tasks,
    pub inbox: Inbox,
    pub counters: Counters,
    pub epoll: Epoll,
    pub settings: Settings,
    pub handle: Handle,
    pub signals: Option<Requests>,
    /// Processes that have not begun, the last one first.
    waiting: Vec<u32>,
    /// Until then a port that nobody has bound yet keeps what comes.
    grace: Time,
    /// Bytes of datagrams that had come when it waited last.
    gathered: u64,
    end: Option<End>,
}

/// What a driver is made of.
pub(crate) struct Parts {
    pub host: HostId,
    pub clock: Clock,
    pub table: Table,
    pub slots: Vec<Slot>,
    pub datagrams: Datagrams,
    pub streams: Streams,
    pub settings: Settings,
    pub handle: Handle,
    pub signals: Option<Requests>,
}

/// Tells of progress, and is told whether to go on.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(&Progress) -> bool;

impl Driver {
    pub fn new(parts: Parts) -> io::Result<Driver> {
        let Parts { host, clock, table, slots, datagrams, streams, settings, handle, signals } = parts;
        let epoll = Epoll::new()?;
        epoll.add(handle.waker(), TOKEN_HANDLE)?;
        if let Some(signals) = &signals {
            epoll.add(signals, TOKEN_SIGNAL)?;
        }
        for (index, listener) in streams.listeners.iter().enumerate() {
            epoll.add(&listener.socket, TOKEN_LISTENERS + index as u64)?;
        }
        let mut waiting: Vec<u32> = (0..slots.len() as u32).collect();
        waiting.sort_by_key(|process| std::cmp::Reverse(slots[*process as usize].start));
        let last = slots.iter().map(|slot| slot.start).max().unwrap_or_default();
        Ok(Driver {
            host,
            clock,
            now: Cell::new(None),
            table,
            slots,
            datagrams,
            streams,
            timers: Timers::default(),
            pace: settings.paced.then(Pace::default),
            tasks: Tasks::default(),
            inbox: Inbox::new(),
            counters: Counters::default(),
            epoll,
            settings,
            handle,
            signals,
            waiting,
            grace: last.saturating_add(GRACE),
            gathered: 0,
            end: None,
        })
    }

    /// Runs until told to stop.
    pub fn run(&mut self, tell: Tell<'_>) -> io::Result<Report> {
        let cpu = sys::cpu::thread_time();
        let every = clock::to_time(self.settings.progress_every());
        let mut next = every;
        let mut finished = false;
        while self.end.is_none() {
            self.turn(next)?;
            let now = self.time();
            if now >= next || self.is_finished() != finished {
                finished = self.is_finished();
                next = now.saturating_add(every);
                if !tell(&self.progress(now)) {
                    self.end = Some(End::Interrupted);
                }
            }
        }
        Ok(self.report(clock::to_time(sys::cpu::thread_time() - cpu)))
    }

    fn turn(&mut self, wake: Time) -> io::Result<()> {
        self.wait(wake)?;
        self.on_time();
        for index in 0..self.datagrams.ports.len() {
            self.receive(index)?;
        }
        for index in 0..self.streams.listeners.len() {
            let (streams, mut world) = self.world();
            streams.accept(index, &mut world);
        }
        self.converse();
        let (streams, mut world) = self.world();
        streams.settle(&mut world);
        for index in 0..self.datagrams.ports.len() {
            self.datagrams.flush(index, &mut self.counters);
        }
        Ok(())
    }

    /// Waits for sockets, at most until the next timer or until `wake`. A member with something to do doesn't
    /// wait, and just tries its ports: they are not among what epoll watches, which would cost something with
    /// every datagram.
    fn wait(&mut self, wake: Time) -> io::Result<()> {
        let mut timeout = self.timeout(wake);
        if timeout != Duration::ZERO && self.gather(timeout) {
            timeout = self.timeout(wake);
        }
        let watched = |port| (self.reads(port), port.blocked);
        let mut ready = vec![(true, true); self.datagrams.ports.len()];
        if timeout != Duration::ZERO {
            let ports = self.datagrams.ports.iter();
            let ports = ports.map(|port| (port.socket.as_fd(), watched(port).0, watched(port).1));
            ready = self.epoll.wait_also(&ports.collect::<Vec<_>>(), Some(timeout))?;
        }
        for (port, (readable, writable)) in self.datagrams.ports.iter_mut().zip(ready) {
            port.readable |= readable;
            port.blocked &= !writable;
        }
        let ready: Vec<Ready> = self.epoll.wait(Some(Duration::ZERO))?.collect();
        self.now.set(None);
        ready.into_iter().for_each(|ready| self.on_ready(ready));
        Ok(())
    }

    fn timeout(&self, wake: Time) -> Duration {
        let now = !self.inbox.is_empty()
            || self.streams.has_work()
            || self.datagrams.ports.iter().any(|port| port.has_work() || port.readable && self.reads(port));
        if now {
            return Duration::ZERO;
        }
        let start = self.waiting.last().map(|process| self.slots[*process as usize].start);
        let grace = Some(self.grace).filter(|grace| *grace > self.time());
        let computed = self.pace.as_ref().and_then(Pace::next);
        let times = [self.timers.next(), computed, start, self.streams.next(), grace];
        let next = times.into_iter().flatten().fold(wake, Time::min);
        self.clock.wait_for(next).unwrap_or_default()
    }

    /// Whether a port is to be read: not before those who may bind it have begun.
    fn reads(&self, port: &crate::datagrams::Port) -> bool {
        port.owner.is_some() || self.time() >= self.grace
    }

    fn on_ready(&mut self, ready: Ready) {
        if ready.token < TOKEN_HANDLE {
            let (streams, mut world) = self.world();
            return streams.on_ready(ready, &mut world);
        }
        match ready.token {
            TOKEN_HANDLE => self.on_commands(),
            TOKEN_SIGNAL => {
                if self.signals.as_ref().is_some_and(Requests::take) {
                    self.end = Some(End::Interrupted);
                }
            }
            token => self.streams.listeners[(token - TOKEN_LISTENERS) as usize].ready |= ready.readable,
        }
    }

    fn on_commands(&mut self) {
        for command in self.handle.take() {
            match command {
                Command::Stop => self.end = Some(End::Stopped),
                Command::Lost(host) => {
                    let begun = |process: &u32| !self.waiting.contains(process);
                    let told = (0..self.slots.len() as u32).filter(begun);
                    self.inbox.extend(told.map(|process| (process, Event::PeerLost { host })));
                }
                Command::Moved(address) => {
                    // An address that belongs to somebody else is not taken: datagrams to it would go astray.
                    if self.table.put(address).is_ok() {
                        self.datagrams.readdress(&self.table);
                    }
                }
            }
        }
    }

    /// Starts and timers that are due.
    fn on_time(&mut self) {
        let due = |clock: &Clock, at| clock.until(at).is_none();
        while let Some(&process) = self.waiting.last()
            && due(&self.clock, self.slots[process as usize].start)
        {
            self.waiting.pop();
            self.inbox.push_back((process, Event::Start));
        }
        let now = self.time();
        if self.pace.is_some() {
            self.keep_pace(now);
        }
        for _ in 0..self.settings.turn_events {
            let Some((_, process, token)) = self.timers.expire(now) else { break };
            self.inbox.push_back((process, Event::Timer { token }));
        }
        let (streams, mut world) = self.world();
        streams.on_time(&mut world);
    }

    /// Computations and timers that are due, in their order, however late this turn is.
    fn keep_pace(&mut self, now: Time) {
        for _ in 0..self.settings.turn_events {
            let Some(pace) = &mut self.pace else { return };
            let Some((process, event)) = pace.resume(&mut self.timers, now) else { return };
            self.dispatch(process, event);
            if let Some(pace) = &mut self.pace {
                pace.rest();
            }
        }
    }

    /// When what follows from the event at hand begins.
    pub fn moment(&self) -> Time {
        self.pace.as_ref().and_then(Pace::moment).unwrap_or_else(|| self.time())
    }

    /// Lets processes handle what has happened, up to a bound: then sockets get their turn.
    fn converse(&mut self) {
        for _ in 0..self.settings.turn_events {
            let Some((process, event)) = self.inbox.pop_front() else { return };
            let closed = match event {
                Event::Closed { stream, .. } => Some(stream),
                _ => None,
            };
            self.dispatch(process, event);
            if let Some(stream) = closed {
                let (streams, world) = self.world();
                streams.closed(stream, &world);
            }
        }
    }

    /// The time; it stands still while an event is handled.
    pub fn time(&self) -> Time {
        let now = self.now.get().unwrap_or_else(|| self.clock.now());
        self.now.set(Some(now));
        now
    }

    /// The streams, and what they need of the rest.
    pub fn world(&mut self) -> (&mut Streams, World<'_>) {
        let now = self.time();
        let world = World {
            now,
            early: now < self.grace,
            host: self.host,
            table: &self.table,
            epoll: &self.epoll,
            counters: &mut self.counters,
            inbox: &mut self.inbox,
        };
        (&mut self.streams, world)
    }
}
