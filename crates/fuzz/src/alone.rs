//! The context of one process that has nobody else: it keeps what it asks for, and what it sends.

use process::{Addr, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;
use units::Time;

/// Such a context.
pub(crate) struct Alone {
    now: Time,
    rng: Pcg64,
    timers: BTreeMap<u64, Time>,
    computing: Vec<(Time, u64)>,
    /// What it has sent since somebody looked.
    pub sent: Vec<Vec<u8>>,
}

impl Alone {
    pub fn new() -> Alone {
        let (timers, computing) = (BTreeMap::new(), Vec::new());
        Alone { now: Time::ZERO, rng: Pcg64::seed_from_u64(1), timers, computing, sent: Vec::new() }
    }

    /// Lets `process` have `steps` of the computations and timers that are due next.
    pub fn run(&mut self, process: &mut dyn Process, steps: usize) {
        for _ in 0..steps {
            let timer = self.timers.iter().map(|(token, at)| (*at, *token)).min();
            let task = self.computing.iter().copied().min();
            let event = match (task, timer) {
                (Some((at, token)), timer) if timer.is_none_or(|(other, _)| at <= other) => {
                    self.computing.retain(|each| *each != (at, token));
                    self.now = self.now.max(at);
                    Event::Computed { token }
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
        self.computing.push((self.now.saturating_add(time), token));
    }

    fn finish(&mut self) {}

    fn listen(&mut self, _: u16) {}

    fn open(&mut self, _: Addr, _: u64) -> StreamId {
        StreamId(0)
    }

    fn write(&mut self, _: StreamId, _: Payload) -> u64 {
        0
    }

    fn read(&mut self, _: StreamId, _: u64) -> Read {
        Read::default()
    }

    fn drain(&mut self, _: StreamId) {}

    fn close(&mut self, _: StreamId) {}

    fn abort(&mut self, _: StreamId) {}

    fn disk_read(&mut self, _: u64, _: u64) {}

    fn disk_write(&mut self, _: u64, _: u64) {}

    fn begin_task(&mut self, _: &'static str, number: u64) -> TaskId {
        TaskId(number + 1)
    }

    fn end_task(&mut self, _: TaskId, _: u64) {}
}
