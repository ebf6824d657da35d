//! A world in memory for tests of processes: hosts that crash and come back, and a network that takes its
//! time, loses, doubles, splits and cuts.
//!
//! Everything is an entry in one queue of actions, ordered by time and then by when it was put in, so that a
//! run repeats itself. There are no packets and no rates: what is sent takes as long as the [`Network`] says.
//! Cores and disks are as many as are asked for. [`conformance`] has the bodies that run here, in the
//! simulator and on sockets alike.
//!
//! Not for measuring, and not for production: it is behind the feature `testing`.

pub mod conformance;
mod context;
mod network;
mod streams;

pub use network::Network;
pub use streams::Row;

use crate::{Addr, Context, Event, HostId, Payload, Process, StreamId};
use context::View;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};
use streams::{End, Strand};
use units::Time;

/// A process from a function, for tests that script one.
pub struct Script<F>(pub F);

impl<F: FnMut(Event, &mut dyn Context) + Send> Process for Script<F> {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        (self.0)(event, cx);
    }
}

/// A datagram that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// The sender.
    pub from: Addr,
    /// Where to.
    pub to: Addr,
    /// Its content.
    pub data: Payload,
    /// A process has got it.
    pub arrived: bool,
}

/// What is to happen.
enum Action {
    /// A process is told of something, if its host has not crashed since.
    Tell(usize, u32, Event),
    /// A timer: process, its host's life, token, number of the setting.
    Fire(usize, u32, u64, u64),
    Restart(usize, u32),
    /// A datagram arrives; where it stands in [`World::sent`].
    Datagram(Addr, Addr, Payload, usize),
    Stream(StreamId, Strand),
}

/// A process and its host.
struct Slot {
    host: HostId,
    process: Option<Box<dyn Process>>,
    rng: Pcg64,
    /// By token: the number of the last setting.
    timers: BTreeMap<u64, u64>,
    up: bool,
    /// How often the host has crashed.
    life: u32,
    finished: bool,
    open: usize,
    open_max: usize,
    timers_max: usize,
}

/// Hosts and what is between them.
pub struct World {
    /// The time.
    pub now: Time,
    /// Every stream that was opened.
    pub rows: Vec<Row>,
    /// Every datagram that was sent, if they are kept.
    pub sent: Vec<Sent>,
    /// Whether they are.
    pub keep_sent: bool,
    /// Hosts that don't answer at all.
    pub silent: BTreeSet<HostId>,
    network: Network,
    chance: Pcg64,
    sequence: u64,
    streams_made: u64,
    tasks: u64,
    told: u64,
    queue: BTreeMap<(Time, u64), Action>,
    slots: Vec<Slot>,
    listeners: BTreeMap<Addr, usize>,
    bound: BTreeMap<Addr, usize>,
    ends: BTreeMap<StreamId, End>,
}

impl World {
    /// No hosts yet; what is left to chance follows from `seed`.
    pub fn new(network: Network, seed: u64) -> World {
        World {
            now: Time::ZERO,
            rows: Vec::new(),
            sent: Vec::new(),
            keep_sent: false,
            silent: BTreeSet::new(),
            network,
            chance: Pcg64::seed_from_u64(seed),
            sequence: 0,
            streams_made: 0,
            tasks: 0,
            told: 0,
            queue: BTreeMap::new(),
            slots: Vec::new(),
            listeners: BTreeMap::new(),
            bound: BTreeMap::new(),
            ends: BTreeMap::new(),
        }
    }

    /// Adds a process, which starts at time zero; returns its number.
    pub fn add(&mut self, host: HostId, process: Box<dyn Process>) -> usize {
        let number = self.slots.len();
        self.slots.push(Slot {
            host,
            process: Some(process),
            rng: Pcg64::seed_from_u64(number as u64),
            timers: BTreeMap::new(),
            up: true,
            life: 0,
            finished: false,
            open: 0,
            open_max: 0,
            timers_max: 0,
        });
        self.tell(self.now, number, Event::Start);
        number
    }

    /// Adds the processes of a job.
    pub fn add_all(&mut self, processes: impl IntoIterator<Item = (HostId, Box<dyn Process>)>) {
        for (host, process) in processes {
            self.add(host, process);
        }
    }

    /// Tells process `number` of `event` at `at`, unless its host crashes before.
    pub fn tell(&mut self, at: Time, number: usize, event: Event) {
        let life = self.slots[number].life;
        self.schedule(at, Action::Tell(number, life, event));
    }

    /// Tells process `number` of `event` at once.
    pub fn deliver(&mut self, number: usize, event: Event) {
        self.dispatch(number, event);
    }

    /// Tells all other processes that the host of process `number` is gone.
    pub fn lose(&mut self, number: usize) {
        let host = self.slots[number].host;
        for other in 0..self.slots.len() {
            if self.slots[other].host != host {
                let at = self.after();
                self.tell(at, other, Event::PeerLost { host });
            }
        }
    }

    /// Runs everything that happens up to `until`.
    pub fn run(&mut self, until: Time) {
        while self.next(until) {}
        self.now = self.now.max(until);
    }

    /// Runs until all processes have finished, or to `until`; says whether they have.
    pub fn finish(&mut self, until: Time) -> bool {
        while !self.finished() {
            if !self.next(until) {
                self.now = self.now.max(until);
                return false;
            }
        }
        true
    }

    /// Runs until processes have been told of so many events, or nothing is left to do.
    pub fn step(&mut self, events: u64) {
        let told = self.told + events;
        while self.told < told && self.next(Time::MAX) {}
    }

    /// Whether every process has finished, since its host came back.
    pub fn finished(&self) -> bool {
        self.slots.iter().all(|slot| slot.finished)
    }

    /// Most streams that a process had opened and not seen closed, over all processes.
    pub fn open_max(&self) -> usize {
        self.slots.iter().map(|slot| slot.open_max).max().unwrap_or(0)
    }

    /// Most timers that a process had pending, over all processes.
    pub fn timers_max(&self) -> usize {
        self.slots.iter().map(|slot| slot.timers_max).max().unwrap_or(0)
    }

    /// The host of process `number` loses its connections, timers and work, silently, and comes back at
    /// `back`.
    pub fn crash(&mut self, number: usize, back: Time) {
        let slot = &mut self.slots[number];
        slot.timers.clear();
        (slot.up, slot.finished, slot.open, slot.life) = (false, false, 0, slot.life + 1);
        let life = slot.life;
        self.bound.retain(|_, owner| *owner != number);
        self.listeners.retain(|_, owner| *owner != number);
        self.lose_ends(number, back);
        self.schedule(back, Action::Restart(number, life));
    }

    /// Puts another process in the place of process `number`, as a program that is started again does.
    pub fn replace(&mut self, number: usize, process: Box<dyn Process>) {
        self.slots[number].process = Some(process);
    }

    fn schedule(&mut self, at: Time, action: Action) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), action);
    }

    /// When something arrives that is sent now.
    fn after(&mut self) -> Time {
        self.now + self.network.delay + self.network.more(&mut self.chance)
    }

    /// Does what is due next, if that is by `until`.
    fn next(&mut self, until: Time) -> bool {
        let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) else {
            return false;
        };
        let ((now, _), action) = entry.remove_entry();
        self.now = now;
        match action {
            Action::Tell(number, life, event) if self.slots[number].life == life => {
                self.dispatch(number, event)
            }
            Action::Fire(number, life, token, setting) => {
                let slot = &mut self.slots[number];
                if slot.life == life && slot.timers.get(&token) == Some(&setting) {
                    slot.timers.remove(&token);
                    self.dispatch(number, Event::Timer { token });
                }
            }
            Action::Restart(number, life) if self.slots[number].life == life => {
                self.slots[number].up = true;
                self.dispatch(number, Event::Start);
            }
            Action::Datagram(from, to, data, place) => self.datagram(from, to, data, place),
            Action::Stream(stream, strand) => self.pull(stream, strand),
            Action::Tell(..) | Action::Restart(..) => {}
        }
        true
    }

    fn datagram(&mut self, from: Addr, to: Addr, data: Payload, place: usize) {
        let Some(&number) = self.bound.get(&to) else { return };
        if let Some(sent) = self.sent.get_mut(place) {
            sent.arrived = true;
        }
        self.dispatch(number, Event::Datagram { from, port: to.port, data });
    }

    fn dispatch(&mut self, number: usize, event: Event) {
        if !self.slots[number].up {
            return;
        }
        self.told += 1;
        let mut process = self.slots[number].process.take().expect("no event inside an event");
        process.handle(event, &mut View { world: self, number });
        self.slots[number].process = Some(process);
    }
}
