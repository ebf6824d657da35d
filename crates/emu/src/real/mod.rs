//! Hosts that are parts of this machine, on a simulated network that keeps this machine's time.
//!
//! For programs that are bound by the processor or the disk. The simulation goes on as its clock does: what a
//! host sends enters the network when it is read, and what arrives is handed over when its time has come.
//! Both are late by as much as this machine is busy, which is counted.

mod clock;
mod lateness;
mod station;

use crate::error::Error;
use crate::host::{Event, Host};
use crate::ip;
use crate::lab::Lab;
use crate::offload::{HEADER, Packets};
use crate::version;
use clock::{Clock, here};
use fabric::{Link, NodeId};
use lateness::Counter;
pub use lateness::Lateness;
use process::HostId;
use sim::{Delivered, Outward, Pause, Sim};
use station::Station;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;
use sys::cpu::{First, Pinned, Waits, allowed, monotonic_ns};
use sys::epoll::Epoll;
use units::Time;

/// The longest IP packet, with its header.
const PACKET: usize = HEADER + 65_535;
/// Time between two looks of whoever runs the hosts, who hears of programs that have ended.
const LOOK: Duration = Duration::from_millis(50);
/// A host that is not set up by then is given up.
const SET_UP: Duration = Duration::from_secs(60);
/// A wait that takes no longer, in nanoseconds, may have found what was there before.
const CALL: u64 = 5_000;

/// A host, and what its network card has in hand.
struct Seat {
    station: Station,
    /// Its network card may have something to send.
    has_more: bool,
    /// Segments that it has in hand.
    segments: Option<Packets>,
    /// A packet is leaving; when it will have left, if that is known.
    leaving: Option<Option<Time>>,
}

/// Hosts that are parts of this machine.
pub struct Real {
    scale: f64,
    /// Runs since the first hosts have been set up.
    clock: Option<Clock>,
    counter: Counter,
    epoll: Epoll,
    seats: BTreeMap<HostId, Seat>,
    crashed: BTreeSet<HostId>,
    restarted: Vec<HostId>,
    events: Vec<(HostId, Event)>,
    /// Where packets are read.
    buffer: Box<[u8; PACKET]>,
    /// What a host has to send now it sent after this, by the clock that only goes on.
    looked: u64,
    waits: Waits,
    /// Where hosts run.
    processors: Vec<usize>,
    /// The network has a processor of its own, if there are several: what has precedence all the time would
    /// be held up for what waits there.
    _pinned: Pinned,
    /// It has precedence where it may.
    _first: Option<First>,
}

/// Which of a host's descriptors is ready: a part of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Card,
    Sign,
}

impl Of {
    fn token(self, host: HostId) -> u64 {
        u64::from(host.0) * 2 + self as u64
    }

    fn read(token: u64) -> (HostId, Of) {
        (HostId((token / 2) as u32), if token.is_multiple_of(2) { Of::Card } else { Of::Sign })
    }
}

impl Lab for Real {
    fn start(&mut self, sim: &mut Sim, hosts: &[&Host], all: &Path) -> Result<(), Error> {
        let (now, scale) = (sim.progress().now, self.scale);
        for host in hosts {
            let folder = all.join(&host.name);
            let at = |start: Time| here(scale, start.max(now));
            host.leave_init(&folder, &host.init_here(at, rate(sim, host.id, scale)))?;
            let station = Station::start(&folder, &self.processors)?;
            let add = |fd: BorrowedFd<'_>, of: Of| self.epoll.add_to_read(fd, of.token(host.id));
            let [said, ended] = station.signs();
            let added = add(station.card.as_fd(), Of::Card).and_then(|()| add(said, Of::Sign));
            added.and_then(|()| add(ended, Of::Sign)).map_err(Error::Here)?;
            self.seats.insert(host.id, Seat { station, has_more: false, segments: None, leaving: None });
        }
        match self.clock {
            // The run goes on while a host comes back.
            Some(_) => Ok(()),
            None => self.set_up(sim),
        }
    }

    fn run(&mut self, sim: &mut Sim, events: u64) -> Result<Pause, Error> {
        let clock = self.clock.expect("a run begins with its hosts");
        let slice = clock.now() + clock.there(LOOK);
        let end = sim.progress().events + events;
        loop {
            let now = clock.now();
            let pause = sim.run_to(now, end.saturating_sub(sim.progress().events));
            for outward in sim.take_outward() {
                match outward {
                    Outward::Wake(host) => self.wake(sim, host)?,
                    Outward::Packet(packet) => self.deliver(sim, packet)?,
                }
            }
            match pause {
                Pause::Outward => continue,
                Pause::Running => {}
                pause => return Ok(pause),
            }
            self.send_all(sim)?;
            let is_over = sim.progress().events >= end || now >= slice;
            let next = if is_over { now } else { sim.next_event().min(slice) };
            self.wait(clock.here(next.saturating_sub(clock.now())))?;
            if is_over || !self.events.is_empty() || !self.restarted.is_empty() {
                return Ok(Pause::Running);
            }
        }
    }

    fn take_events(&mut self) -> Vec<(HostId, Event)> {
        std::mem::take(&mut self.events)
    }

    fn take_restarted(&mut self) -> Vec<HostId> {
        std::mem::take(&mut self.restarted)
    }

    fn ended(&self) -> Option<HostId> {
        self.seats.iter().find(|(_, seat)| seat.station.ended).map(|(host, _)| *host)
    }

    fn give(&mut self, sim: &mut Sim, host: HostId, packet: &[u8]) {
        let taken =
            self.seats.get_mut(&host).is_some_and(|seat| seat.station.card.send(packet).unwrap_or(false));
        if !taken {
            sim.refuse_raw(host);
        }
    }

    fn tell(
        &mut self,
        sim: &mut Sim,
        host: HostId,
        (packet, last): (&[u8], &dyn Fn(Event) -> bool),
        time: Time,
    ) -> Result<(), Error> {
        self.give(sim, host, packet);
        let (until, before) = (monotonic_ns() + time.as_ps() / 1000, self.events.len());
        while monotonic_ns() < until && !self.events[before..].iter().any(|(_, event)| last(*event)) {
            self.wait(LOOK)?;
        }
        Ok(())
    }

    fn linux(&self) -> Option<String> {
        version::here()
    }

    fn lateness(&self) -> Option<Lateness> {
        Some(self.counter.lateness())
    }
}

impl Real {
    /// Nobody is there yet. Each second of the run takes `scale` seconds here, and packets that come `late`
    /// or later are counted.
    ///
    /// # Errors
    /// The process has no descriptors left, or this kernel does not count what is needed.
    pub fn new(scale: f64, late: Duration) -> io::Result<Real> {
        let pinned = Pinned::here()?;
        let mut processors: Vec<usize> = pinned.others().collect();
        if processors.is_empty() {
            processors = allowed()?;
        }
        Ok(Real {
            scale,
            clock: None,
            counter: Counter::new(late),
            epoll: Epoll::new()?,
            seats: BTreeMap::new(),
            crashed: BTreeSet::new(),
            restarted: Vec::new(),
            events: Vec::new(),
            buffer: Box::new([0; PACKET]),
            looked: 0,
            waits: Waits::here()?,
            processors,
            _pinned: pinned,
            _first: First::here().ok(),
        })
    }

    /// Waits until the first hosts are set up, and lets them begin together.
    fn set_up(&mut self, sim: &Sim) -> Result<(), Error> {
        let until = monotonic_ns() + SET_UP.as_nanos() as u64;
        while let Some((host, _)) =
            self.seats.iter().find(|(_, seat)| !seat.station.ready && !seat.station.ended)
        {
            if monotonic_ns() > until {
                let name = sim.graph().name(NodeId(host.0)).to_owned();
                return Err(Error::Slow { name, patience: SET_UP });
            }
            self.wait(LOOK)?;
        }
        let clock = Clock::begin(self.scale);
        self.clock = Some(clock);
        let stations = self.seats.values_mut().map(|seat| &mut seat.station);
        for station in stations.filter(|station| !station.ended) {
            station.begin(clock.time_of_day(Time::ZERO)).map_err(Error::Here)?;
        }
        Ok(())
    }

    /// Waits until a host has something to send or to say, or `time` is over.
    fn wait(&mut self, time: Duration) -> Result<(), Error> {
        let (entered, waited) = (monotonic_ns(), self.waits.so_far().map_err(Error::Here)?);
        let mut spoken = Vec::new();
        for ready in self.epoll.wait(Some(time)).map_err(Error::Here)? {
            let (host, of) = Of::read(ready.token);
            match self.seats.get_mut(&host) {
                Some(seat) if of == Of::Card => seat.has_more = true,
                Some(_) => spoken.push(host),
                // It was closed meanwhile.
                None => {}
            }
        }
        let woken = monotonic_ns();
        if woken - entered > CALL {
            // It slept, and what has woken it came before it had to wait for a processor.
            let delay = self.waits.so_far().map_err(Error::Here)?.saturating_sub(waited);
            self.looked = woken.saturating_sub(delay.as_nanos() as u64).max(entered);
        }
        spoken.into_iter().try_for_each(|host| self.listen_to(host))
    }

    fn listen_to(&mut self, host: HostId) -> Result<(), Error> {
        let Some(Seat { station, .. }) = self.seats.get_mut(&host) else { return Ok(()) };
        for event in station.listen().map_err(Error::Here)? {
            match (event, self.clock) {
                // The run has begun without it.
                (Event::Ready, Some(clock)) => {
                    station.begin(clock.time_of_day(Time::ZERO)).map_err(Error::Here)?;
                }
                (Event::Ready, None) => {}
                _ => self.events.push((host, event)),
            }
        }
        Ok(())
    }

    /// The time has come for something at `host`.
    fn wake(&mut self, sim: &mut Sim, host: HostId) -> Result<(), Error> {
        if !sim.is_up(host) {
            if self.seats.contains_key(&host) {
                self.listen_to(host)?;
                self.seats.remove(&host);
                self.crashed.insert(host);
            }
        } else if self.crashed.remove(&host) {
            self.restarted.push(host);
        }
        let now = sim.progress().now;
        let Some(seat) = self.seats.get_mut(&host) else { return Ok(()) };
        let has_left = |left: Option<Time>| left.map_or_else(|| !sim.raw_waits(host), |left| left <= now);
        if seat.leaving.is_some_and(has_left) {
            seat.leaving = None;
            // What waited for that leaves now, and is not late.
            self.send(sim, host, Time::ZERO)?;
        }
        Ok(())
    }

    /// Sends what hosts have to send.
    fn send_all(&mut self, sim: &mut Sim) -> Result<(), Error> {
        let ready: Vec<HostId> = self
            .seats
            .iter()
            .filter(|(_, seat)| seat.has_more && seat.leaving.is_none())
            .map(|(id, _)| *id)
            .collect();
        let looks = monotonic_ns();
        for host in ready {
            let unseen = Duration::from_nanos(monotonic_ns() - self.looked);
            let late = self.clock.map_or(Time::ZERO, |clock| clock.there(unseen));
            self.send(sim, host, late)?;
        }
        self.looked = looks;
        Ok(())
    }

    /// Sends the next packet of a host, if none is leaving: so the host's own queues are where packets wait.
    fn send(&mut self, sim: &mut Sim, host: HostId, late: Time) -> Result<(), Error> {
        let hosts = sim.graph().hosts();
        let Some(seat) = self.seats.get_mut(&host) else { return Ok(()) };
        while seat.leaving.is_none() {
            let Some(packet) = seat.segments.as_mut().and_then(Iterator::next) else {
                if !seat.has_more {
                    break;
                }
                let read = seat.station.card.receive(&mut self.buffer[..]);
                match read.map_err(|error| broken(sim, host, error))? {
                    Some(bytes) => seat.segments = segments(&self.buffer[..bytes]),
                    None => seat.has_more = false,
                }
                continue;
            };
            match ip::on_network(packet, hosts, late) {
                Some(packet) => {
                    let left = sim.send_raw(host, packet);
                    seat.leaving = Some(left);
                    if let Some(left) = left {
                        sim.wake_at(host, left);
                    }
                }
                None => sim.drop_unroutable(host),
            }
        }
        Ok(())
    }

    /// Hands a packet over that has come.
    fn deliver(&mut self, sim: &mut Sim, packet: Delivered) -> Result<(), Error> {
        let Delivered { to, mut data, marked, late } = packet;
        let Some(seat) = self.seats.get_mut(&to) else {
            sim.refuse_raw(to);
            return Ok(());
        };
        if marked {
            ip::mark(&mut data);
        }
        let taken = seat.station.card.send(&data).map_err(|error| broken(sim, to, error))?;
        if !taken {
            sim.refuse_raw(to);
        }
        if let Some(clock) = self.clock {
            self.counter.add(clock.here(clock.now().saturating_sub(sim.progress().now) + late));
        }
        Ok(())
    }
}

/// The packets that a network card was given as one. What isn't one is nothing, as at any card.
fn segments(read: &[u8]) -> Option<Packets> {
    let (header, packet) = read.split_first_chunk()?;
    Packets::of(header, 0, packet.into()).ok()
}

fn broken(sim: &Sim, host: HostId, error: io::Error) -> Error {
    Error::Broken { name: sim.graph().name(NodeId(host.0)).to_owned(), error }
}

/// Bits a second that a host's links send, by this machine's clock.
fn rate(sim: &Sim, host: HostId, scale: f64) -> u64 {
    let node = NodeId(host.0);
    let of = |link: &Link| {
        let (out, back) = (link.a == node, link.b == node);
        u64::from(out) * link.ab.rate.as_bps() + u64::from(back) * link.ba.rate.as_bps()
    };
    let rate: u64 = sim.graph().links().iter().map(of).sum();
    ((rate as f64 / scale) as u64).max(1)
}
