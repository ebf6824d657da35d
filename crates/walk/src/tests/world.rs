//! A deterministic driver for servers: datagrams that may be lost, doubled and overtaken, one core a worker.

use process::{Addr, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use units::Time;

/// What the network does to datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    /// Probability of loss, 0 to 1.
    pub loss: f64,
    /// Probability that a datagram comes twice.
    pub doubled: f64,
    /// Datagrams take 10 µs and up to so much more.
    pub jitter: Time,
}

enum Action {
    Tell(usize, Event),
    /// A timer or computation: process, its life, number of the setting.
    Fire(usize, u32, u64, u64),
    Done(usize, u32, u64),
}

struct Slot {
    process: Option<Box<dyn Process>>,
    rng: Pcg64,
    timers: BTreeMap<u64, u64>,
    up: bool,
    life: u32,
    pub finishes: u32,
}

pub struct World {
    pub now: Time,
    /// Every datagram that was sent: from, to, content.
    pub sent: Vec<(usize, usize, Vec<u8>)>,
    pub keep_sent: bool,
    trouble: Trouble,
    network: Pcg64,
    sequence: u64,
    queue: BTreeMap<(Time, u64), Action>,
    slots: Vec<Slot>,
}

pub const PORT: u16 = 7000;

/// Addresses of `n` servers.
pub fn addresses(n: usize) -> Vec<Addr> {
    (0..n as u32).map(|host| Addr { host: HostId(host), port: PORT }).collect()
}

impl World {
    pub fn new(trouble: Trouble, seed: u64) -> World {
        World {
            now: Time::ZERO,
            sent: Vec::new(),
            keep_sent: false,
            trouble,
            network: Pcg64::seed_from_u64(seed),
            sequence: 0,
            queue: BTreeMap::new(),
            slots: Vec::new(),
        }
    }

    pub fn add(&mut self, process: Box<dyn Process>) {
        let (number, timers) = (self.slots.len(), BTreeMap::new());
        let rng = Pcg64::seed_from_u64(number as u64);
        self.slots.push(Slot { process: Some(process), rng, timers, up: true, life: 0, finishes: 0 });
        self.tell(Time::ZERO, number, Event::Start);
    }

    /// Tells process `number` of `event` at `at`.
    pub fn tell(&mut self, at: Time, number: usize, event: Event) {
        self.schedule(at, Action::Tell(number, event));
    }

    /// The host loses its timers and work now, and comes back after `pause`.
    pub fn crash(&mut self, number: usize, pause: Time) {
        let slot = &mut self.slots[number];
        slot.timers.clear();
        (slot.up, slot.life, slot.finishes) = (false, slot.life + 1, 0);
        self.tell(self.now + pause, number, Event::Start);
    }

    /// Runs until all have finished, or to `until`; says whether they have.
    pub fn run(&mut self, until: Time) -> bool {
        while !self.finished() {
            let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) else {
                self.now = until;
                return false;
            };
            let ((now, _), action) = entry.remove_entry();
            self.now = now;
            self.act(action);
        }
        true
    }

    pub fn finished(&self) -> bool {
        self.slots.iter().all(|slot| slot.finishes > 0)
    }

    fn schedule(&mut self, at: Time, action: Action) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), action);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Tell(number, event) => {
                if event == Event::Start {
                    self.slots[number].up = true;
                }
                self.dispatch(number, event);
            }
            Action::Fire(number, life, token, setting) => {
                let slot = &mut self.slots[number];
                if slot.life == life && slot.timers.get(&token) == Some(&setting) {
                    slot.timers.remove(&token);
                    self.dispatch(number, Event::Timer { token });
                }
            }
            Action::Done(number, life, token) if self.slots[number].life == life => {
                self.dispatch(number, Event::Computed { token });
            }
            Action::Done(..) => {}
        }
    }

    fn dispatch(&mut self, number: usize, event: Event) {
        if !self.slots[number].up {
            return;
        }
        let mut process = self.slots[number].process.take().expect("no event inside an event");
        process.handle(event, &mut Cx { world: self, number });
        self.slots[number].process = Some(process);
    }
}

struct Cx<'a> {
    world: &'a mut World,
    number: usize,
}

impl Context for Cx<'_> {
    fn now(&self) -> Time {
        self.world.now
    }

    fn host(&self) -> HostId {
        HostId(self.number as u32)
    }

    fn rng(&mut self) -> &mut dyn Rng {
        &mut self.world.slots[self.number].rng
    }

    fn bind(&mut self, port: u16) {
        assert_eq!(port, PORT);
    }

    fn send(&mut self, port: u16, to: Addr, data: Payload) {
        let from = Addr { host: self.host(), port };
        let world = &mut *self.world;
        if world.keep_sent
            && let Payload::Data(bytes) = &data
        {
            world.sent.push((self.number, to.host.0 as usize, bytes.to_vec()));
        }
        let Trouble { loss, doubled, jitter } = world.trouble;
        let copies = if world.network.random_bool(loss) {
            0
        } else {
            1 + u32::from(world.network.random_bool(doubled))
        };
        for _ in 0..copies {
            let extra = Time::from_ps(world.network.random_range(0..=jitter.as_ps()));
            let event = Event::Datagram { from, port: to.port, data: data.clone() };
            world.schedule(world.now + Time::from_us(10) + extra, Action::Tell(to.host.0 as usize, event));
        }
    }

    fn set_timer(&mut self, token: u64, delay: Time) {
        let (number, setting) = (self.number, self.world.sequence + 1);
        let life = self.world.slots[number].life;
        self.world.slots[number].timers.insert(token, setting);
        self.world.schedule(self.world.now.saturating_add(delay), Action::Fire(number, life, token, setting));
    }

    fn cancel_timer(&mut self, token: u64) {
        self.world.slots[self.number].timers.remove(&token);
    }

    fn compute(&mut self, token: u64, time: Time) {
        let life = self.world.slots[self.number].life;
        self.world.schedule(self.world.now + time, Action::Done(self.number, life, token));
    }

    fn finish(&mut self) {
        self.world.slots[self.number].finishes += 1;
    }

    fn listen(&mut self, _: u16) {
        unreachable!("walks use datagrams")
    }
    fn open(&mut self, _: Addr, _: u64) -> StreamId {
        unreachable!("walks use datagrams")
    }
    fn write(&mut self, _: StreamId, _: Payload) -> u64 {
        unreachable!("walks use datagrams")
    }
    fn read(&mut self, _: StreamId, _: u64) -> Read {
        unreachable!("walks use datagrams")
    }
    fn drain(&mut self, _: StreamId) {
        unreachable!("walks use datagrams")
    }
    fn close(&mut self, _: StreamId) {
        unreachable!("walks use datagrams")
    }
    fn abort(&mut self, _: StreamId) {
        unreachable!("walks use datagrams")
    }
    fn disk_read(&mut self, _: u64, _: u64) {
        unreachable!("walks use no disk")
    }
    fn disk_write(&mut self, _: u64, _: u64) {
        unreachable!("walks use no disk")
    }
    fn begin_task(&mut self, _: &'static str, _: u64) -> TaskId {
        unreachable!("walks have no tasks")
    }
    fn end_task(&mut self, _: TaskId, _: u64) {
        unreachable!("walks have no tasks")
    }
}
