//! The context of one process that has nobody else: it keeps what it asks for, and what it sends. Streams take whatever is
//! written to them, and bring what a test puts there.

use process::{Addr, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::Time;

/// Such a context.
pub(crate) struct Alone {
    now: Time,
    rng: Pcg64,
    timers: BTreeMap<u64, Time>,
    computing: Vec<(Time, Task)>,
    streams: u64,
    arrived: BTreeMap<StreamId, VecDeque<u8>>,
    /// What it has sent since somebody looked.
    pub sent: Vec<Vec<u8>>,
    /// Streams that it has opened, and not given up.
    pub opened: BTreeSet<StreamId>,
}

/// What takes time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Computation(u64),
    Disk(u64),
    Opening(StreamId),
}

impl Task {
    fn done(self) -> Event {
        match self {
            Task::Computation(token) => Event::Computed { token },
            Task::Disk(token) => Event::DiskDone { token },
            Task::Opening(stream) => Event::Opened { stream },
        }
    }
}

/// The first stream that it opens; those before are of others.
const OWN: u64 = 1 << 32;

impl Alone {
    pub fn new() -> Alone {
        Alone {
            now: Time::ZERO,
            rng: Pcg64::seed_from_u64(1),
            timers: BTreeMap::new(),
            computing: Vec::new(),
            streams: OWN,
            arrived: BTreeMap::new(),
            sent: Vec::new(),
            opened: BTreeSet::new(),
        }
    }

    /// Bytes come on a stream.
    pub fn arrive(&mut self, process: &mut dyn Process, stream: StreamId, bytes: &[u8]) {
        self.arrived.entry(stream).or_default().extend(bytes);
        process.handle(Event::Readable { stream }, self);
    }

    /// Lets `process` have `steps` of the computations and timers that are due next.
    pub fn run(&mut self, process: &mut dyn Process, steps: usize) {
        for _ in 0..steps {
            let timer = self.timers.iter().map(|(token, at)| (*at, *token)).min();
            let task = self.computing.iter().copied().min();
            let event = match (task, timer) {
                (Some((at, task)), timer) if timer.is_none_or(|(other, _)| at <= other) => {
                    let place = self.computing.iter().position(|each| *each == (at, task));
                    self.computing.swap_remove(place.expect("it is the least"));
                    self.now = self.now.max(at);
                    task.done()
                }
                (_, Some((at, token))) => {
                    self.timers.remove(&token);
                    self.now = self.now.max(at);
                    Event::Timer { token }
                }
                _ => return,
            };
            process.handle(event, self);
        }
    }
}

impl Context for Alone {
    fn now(&self) -> Time {
        self.now
    }

    fn host(&self) -> HostId {
        HostId(0)
    }

    fn rng(&mut self) -> &mut dyn Rng {
        &mut self.rng
    }

    fn bind(&mut self, _: u16) {}

    fn send(&mut self, _: u16, _: Addr, data: Payload) {
        if let Payload::Data(bytes) = data {
            self.sent.push(bytes.to_vec());
        }
    }

    fn set_timer(&mut self, token: u64, delay: Time) {
        self.timers.insert(token, self.now.saturating_add(delay));
    }

    fn cancel_timer(&mut self, token: u64) {
        self.timers.remove(&token);
    }

    fn compute(&mut self, token: u64, time: Time) {
        self.computing.push((self.now.saturating_add(time), Task::Computation(token)));
    }

    fn finish(&mut self) {}

    fn listen(&mut self, _: u16) {}

    fn open(&mut self, _: Addr, _: u64) -> StreamId {
        let stream = StreamId(self.streams);
        self.streams += 1;
        self.opened.insert(stream);
        self.computing.push((self.now, Task::Opening(stream)));
        stream
    }

    fn write(&mut self, _: StreamId, data: Payload) -> u64 {
        data.len()
    }

    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        let arrived = self.arrived.entry(stream).or_default();
        let n = arrived.len().min(usize::try_from(max).unwrap_or(usize::MAX));
        let bytes: Vec<u8> = arrived.drain(..n).collect();
        let data = if bytes.is_empty() { Vec::new() } else { vec![Payload::from(bytes)] };
        Read { data: data.into_iter().collect(), ..Read::default() }
    }

    fn drain(&mut self, _: StreamId) {}

    fn close(&mut self, stream: StreamId) {
        self.opened.remove(&stream);
    }

    fn abort(&mut self, stream: StreamId) {
        self.opened.remove(&stream);
    }

    fn disk_read(&mut self, _: u64, token: u64) {
        self.computing.push((self.now, Task::Disk(token)));
    }

    fn disk_write(&mut self, _: u64, token: u64) {
        self.computing.push((self.now, Task::Disk(token)));
    }

    fn begin_task(&mut self, _: &'static str, number: u64) -> TaskId {
        TaskId(number.wrapping_add(1))
    }

    fn end_task(&mut self, _: TaskId, _: u64) {}
}
