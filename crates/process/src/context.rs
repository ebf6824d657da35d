//! What a process may ask of the driver that runs it.

use crate::{Addr, HostId, Payload, StreamId, TaskId};
use rand::Rng;
use units::Time;

/// Result of [`Context::read`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The pieces read, in order; empty when nothing is there yet.
    pub data: Vec<Payload>,
    /// The peer has finished and everything has been read.
    pub end: bool,
}

impl Read {
    /// Bytes in all pieces.
    pub fn len(&self) -> u64 {
        self.data.iter().map(Payload::len).sum()
    }

    /// Whether no byte was read.
    pub fn is_empty(&self) -> bool {
        self.data.iter().all(Payload::is_empty)
    }
}

/// The world as a process sees it. A driver implements it.
pub trait Context {
    /// Time since the start of the run.
    fn now(&self) -> Time;
    /// The host this process runs on.
    fn host(&self) -> HostId;
    /// This process's own random stream, split off the run's seed by name.
    fn rng(&mut self) -> &mut dyn Rng;

    /// Receives datagrams sent to `port` from now on.
    fn bind(&mut self, port: u16);
    /// Sends one datagram from the local `port`. It may be lost, and never blocks.
    fn send(&mut self, port: u16, to: Addr, data: Payload);
    /// Sends `data` as datagrams of `segment` bytes, at least 1; the last may be shorter. Each is a datagram
    /// like any other, but drivers may hand them on together.
    fn send_train(&mut self, port: u16, to: Addr, data: &[u8], segment: usize) {
        data.chunks(segment).for_each(|part| self.send(port, to, Payload::from(part.to_vec())));
    }

    /// Accepts streams to `port` from now on.
    fn listen(&mut self, port: u16);
    /// Opens a stream; [`crate::Event::Opened`] or [`crate::Event::Closed`] follows. Data may be written at
    /// once. The stream is one row of the `flows` table; `group` ties rows together (a coflow, a round).
    fn open(&mut self, to: Addr, group: u64) -> StreamId;
    /// Writes to a stream; returns how many bytes were taken. Fewer than offered means the send
    /// buffer is full: [`crate::Event::Writable`] follows.
    fn write(&mut self, stream: StreamId, data: Payload) -> u64;
    /// Reads up to `max` bytes.
    fn read(&mut self, stream: StreamId, max: u64) -> Read;
    /// Reads and drops everything that comes from now on: [`crate::Event::Readable`] follows once, at the end
    /// of the stream, and a read then returns the end. One that was under way may come before; it finds
    /// nothing.
    fn drain(&mut self, stream: StreamId);
    /// Nothing more will be written: the peer reads the end after the last byte.
    fn close(&mut self, stream: StreamId);
    /// Drops the stream at once; the peer sees a reset.
    fn abort(&mut self, stream: StreamId);

    /// [`crate::Event::Timer`] with `token` after `delay`; a timer set again under its token moves.
    fn set_timer(&mut self, token: u64, delay: Time);
    /// Forgets the timer with `token`.
    fn cancel_timer(&mut self, token: u64);

    /// Occupies one core for `time`; queues behind others when all cores are busy. [`crate::Event::Computed`]
    /// follows. Live drivers report it at once: there the work itself took the time.
    fn compute(&mut self, token: u64, time: Time);
    /// Reads from the host's disk; [`crate::Event::DiskDone`] follows.
    fn disk_read(&mut self, token: u64, bytes: u64);
    /// Writes to the host's disk; [`crate::Event::DiskDone`] follows.
    fn disk_write(&mut self, token: u64, bytes: u64);

    /// Begins a task on the job's timeline: `kind` (`map`, `reduce`…) and its number among those of its kind.
    /// Tasks may overlap and lie within one another. It is one row of the `tasks` table.
    fn begin_task(&mut self, kind: &'static str, number: u64) -> TaskId;
    /// Ends a task that this process began, and says how many bytes it has dealt with. A task that never
    /// ends is shown as unfinished: that is how a job that hangs says where. A crash of the host ends all
    /// of its tasks.
    fn end_task(&mut self, task: TaskId, bytes: u64);

    /// This process has done its share of the job. A job ends when all of its processes have.
    fn finish(&mut self);
}
