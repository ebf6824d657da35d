//! What a piece of work on a compute node may do: its context, with timers, computations and disk transfers
//! told apart by what they are for.

use crate::prepared::PreparedJob;
use crate::wire::Message;
use process::{Addr, Context, HostId, Payload, StreamId};
use std::collections::BTreeMap;
use units::Time;

/// What a timer, a computation or a disk transfer of a piece of work is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Op {
    /// The container has started.
    Started,
    /// The task has been set up.
    SetUp,
    /// A moment after a short read.
    Tick,
    /// Time to see whether a transfer has made progress.
    Stalled,
    /// Time to try again.
    Retry,
    /// The map or reduce function has had its time.
    Function,
    /// A buffer is sorted, or runs are merged.
    Sorted,
    /// What was sorted or merged is on the disk.
    Written,
    /// Runs are read back.
    ReadBack,
    /// The shuffle buffer is merged.
    BufferMerged,
    /// The merged buffer is on the disk.
    BufferWritten,
    /// A large map output is on the disk.
    LargeWritten,
    /// A node where a fetch failed may be asked again.
    Penalty,
    /// The task has committed its output.
    Committed,
}

const OPS: [Op; 14] = [
    Op::Started,
    Op::SetUp,
    Op::Tick,
    Op::Stalled,
    Op::Retry,
    Op::Function,
    Op::Sorted,
    Op::Written,
    Op::ReadBack,
    Op::BufferMerged,
    Op::BufferWritten,
    Op::LargeWritten,
    Op::Penalty,
    Op::Committed,
];

/// Bits of a token below the number of the work.
const OP_BITS: u32 = 4;

/// The work and the purpose that a token means.
pub(crate) fn split(token: u64) -> Option<(u64, Op)> {
    let op = OPS.get((token & ((1 << OP_BITS) - 1)) as usize)?;
    Some((token >> OP_BITS, *op))
}

/// What happens to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Readable,
    Writable,
    /// It is gone; whether it came to its end.
    Closed(bool),
}

/// How a piece of work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Going,
    Done,
    Failed,
}

/// The world of a piece of work.
pub(crate) struct Env<'a> {
    pub cx: &'a mut dyn Context,
    pub prepared: &'a PreparedJob,
    /// The number of the work, from 1.
    pub work: u64,
    /// Whose each stream is.
    pub owners: &'a mut BTreeMap<StreamId, u64>,
    /// What the master is to be told.
    pub calls: &'a mut Vec<Message>,
    /// Whether the node has the job's files; its first containers wait for them.
    pub localised: &'a mut bool,
}

impl Env<'_> {
    pub(crate) fn token(&self, op: Op) -> u64 {
        (self.work << OP_BITS) | op as u64
    }

    /// Opens a stream and makes a request on it.
    pub(crate) fn open(&mut self, to: HostId, group: u64, request: &Message) -> StreamId {
        let stream = self.cx.open(Addr { host: to, port: self.prepared.port }, group);
        self.owners.insert(stream, self.work);
        self.cx.write(stream, Payload::from(request.encode()));
        stream
    }

    /// Drops a stream at once.
    pub(crate) fn abort(&mut self, stream: StreamId) {
        self.cx.abort(stream);
        self.owners.remove(&stream);
    }

    pub(crate) fn timer(&mut self, op: Op, delay: Time) {
        self.cx.set_timer(self.token(op), delay);
    }

    pub(crate) fn compute(&mut self, op: Op, time: Time) {
        self.cx.compute(self.token(op), time);
    }

    pub(crate) fn disk_write(&mut self, op: Op, bytes: u64) {
        self.cx.disk_write(self.token(op), bytes);
    }

    /// Reads back from the local disk; what the page cache has is there at once.
    pub(crate) fn read_back(&mut self, op: Op, bytes: u64) {
        match self.prepared.disk_part(bytes) {
            0 => self.timer(op, Time::ZERO),
            bytes => self.cx.disk_read(self.token(op), bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_say_whose_and_what_for() {
        for (at, op) in OPS.into_iter().enumerate() {
            assert_eq!(op as usize, at);
            assert_eq!(split((77 << OP_BITS) | op as u64), Some((77, op)));
        }
        assert_eq!(split(15), None);
    }
}
