//! A map: reads its block from a data node while it works on it, sorts and spills, merges its spills.
//!
//! MapTask and its MapOutputBuffer: records are collected until the buffer is 80 % full, sorted, and written
//! to a spill file; several spills are merged into the output. Here a spill holds the map up; Hadoop's spill
//! thread would go on collecting into the remaining 20 %.

use crate::env::{Env, Op, Signal, Status};
use crate::pace::Pace;
use crate::prepared::core_time;
use crate::remote_calls::RemoteCalls;
use crate::wire::{Kind, Message};
use process::{HostId, StreamId, TaskId};
use units::Time;

/// An HDFS packet: the map function gets at least so much at a time.
const PACKET: u64 = 64 << 10;
/// Block reads that may fail.
const TRIES: u32 = 4;
/// Wait after all replicas have failed (`dfs.client.retry.window.base`).
const RETRY: Time = Time::from_secs(3);

/// A map in its container.
#[derive(Debug)]
pub(crate) struct MapTask {
    pub number: u32,
    pub task: TaskId,
    pub calls: RemoteCalls,
    bytes: u64,
    replicas: Vec<HostId>,
    tries: u32,
    slowness: u64,
    stream: Option<StreamId>,
    pace: Pace,
    /// Read from the data node.
    read: u64,
    /// `read` at the last look.
    seen: u64,
    /// Read, not yet given to the map function.
    waiting: u64,
    /// The map function is at it.
    at: u64,
    /// In the sort buffer.
    collected: u64,
    /// In spills.
    spilled: u64,
    spills: u32,
    busy: Busy,
}

/// What keeps a map from reading on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    Free,
    /// The map function runs.
    Function,
    /// The buffer is sorted and written.
    Spilling,
    /// Spills are merged, or the output is committed.
    Ending,
}

impl MapTask {
    pub(crate) fn new(number: u32, reuse: bool, env: &mut Env<'_>) -> MapTask {
        let task = env.cx.begin_task("map", u64::from(number));
        MapTask {
            number,
            task,
            calls: env.start_container(reuse),
            bytes: env.prepared.split(number),
            replicas: env.prepared.replicas[number as usize].clone(),
            tries: 0,
            slowness: env.prepared.draw_slowness(env.cx.rng()),
            stream: None,
            pace: Pace::default(),
            read: 0,
            seen: 0,
            waiting: 0,
            at: 0,
            collected: 0,
            spilled: 0,
            spills: 0,
            busy: Busy::Free,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn on(&mut self, op: Op, env: &mut Env<'_>) -> Status {
        match op {
            Op::Started => env.set_up(Kind::Map, &mut self.calls),
            Op::SetUp | Op::Retry => self.open(env),
            Op::Tick => {
                self.pace.tick();
                return self.go_on(env);
            }
            Op::Stalled => return self.look(env),
            Op::Function => {
                self.collected += std::mem::take(&mut self.at);
                self.busy = Busy::Free;
                return self.go_on(env);
            }
            Op::Sorted => {
                let bytes = if self.busy == Busy::Ending { self.bytes } else { self.collected };
                env.disk_write(Op::Written, bytes);
            }
            Op::Written if self.busy == Busy::Ending => env.commit(Kind::Map, &mut self.calls),
            Op::Written => {
                self.spills += 1;
                self.spilled += std::mem::take(&mut self.collected);
                self.busy = Busy::Free;
                return self.go_on(env);
            }
            Op::ReadBack => {
                let time = core_time(env.prepared.job.costs.merge_rate, self.bytes, self.slowness);
                env.compute(Op::Sorted, time);
            }
            Op::Committed => return Status::Done,
            _ => {}
        }
        Status::Going
    }

    pub(crate) fn signal(&mut self, stream: StreamId, signal: Signal, env: &mut Env<'_>) -> Status {
        if self.stream != Some(stream) {
            return Status::Going;
        }
        match signal {
            Signal::Readable => self.go_on(env),
            Signal::Writable => Status::Going,
            Signal::Closed(_) => self.fail(env),
        }
    }

    /// Asks the next replica for what is missing of the block.
    fn open(&mut self, env: &mut Env<'_>) {
        let replica = self.replicas[self.tries as usize % self.replicas.len()];
        let stream = env.open(replica, self.task.0, &Message::Read { bytes: self.bytes - self.read });
        self.stream = Some(stream);
        self.pace = Pace::default();
        self.seen = u64::MAX;
        env.timer(Op::Stalled, env.prepared.job.costs.socket_timeout);
    }

    /// Reads on, gives the map function what is worth it, spills a full buffer.
    fn go_on(&mut self, env: &mut Env<'_>) -> Status {
        if self.busy != Busy::Free {
            return Status::Going;
        }
        let room = env.prepared.spill_at - self.collected - self.waiting;
        if let Some(stream) = self.stream {
            let token = env.token(Op::Tick);
            let n = self.pace.read(stream, room.min(self.bytes - self.read), token, env.cx);
            self.read += n;
            self.waiting += n;
        }
        let whole = self.read == self.bytes;
        if whole {
            // The end is all that is still to come.
            if let Some(stream) = self.stream.take() {
                env.cx.drain(stream);
                env.cx.close(stream);
            }
        } else if self.pace.ended && self.stream.is_some() {
            return self.fail(env);
        }
        let full = self.collected + self.waiting >= env.prepared.spill_at;
        if self.waiting >= PACKET || (self.waiting > 0 && (whole || full)) {
            self.at = std::mem::take(&mut self.waiting);
            self.busy = Busy::Function;
            env.compute(Op::Function, core_time(env.prepared.job.costs.map_rate, self.at, self.slowness));
        } else if full || (whole && self.collected > 0) {
            self.busy = Busy::Spilling;
            env.compute(
                Op::Sorted,
                core_time(env.prepared.job.costs.sort_rate, self.collected, self.slowness),
            );
        } else if whole && self.spilled == self.bytes {
            self.finish(env);
        }
        Status::Going
    }

    /// Merges the spills; a single one is the output as it is.
    fn finish(&mut self, env: &mut Env<'_>) {
        self.busy = Busy::Ending;
        if self.spills > 1 {
            env.read_back(Op::ReadBack, self.bytes);
        } else {
            env.commit(Kind::Map, &mut self.calls);
        }
    }

    /// No byte since the last look: another replica is tried.
    fn look(&mut self, env: &mut Env<'_>) -> Status {
        if self.stream.is_none() {
            return Status::Going;
        }
        // A map that is busy doesn't read, and that is no fault of the data node's.
        if self.seen == self.read && self.busy == Busy::Free {
            return self.fail(env);
        }
        self.seen = self.read;
        env.timer(Op::Stalled, env.prepared.job.costs.socket_timeout);
        Status::Going
    }

    fn fail(&mut self, env: &mut Env<'_>) -> Status {
        if let Some(stream) = self.stream.take() {
            env.abort(stream);
        }
        self.tries += 1;
        if self.tries >= TRIES.max(self.replicas.len() as u32) {
            return Status::Failed;
        }
        let all_tried = (self.tries as usize).is_multiple_of(self.replicas.len());
        env.timer(Op::Retry, if all_tried { RETRY } else { Time::ZERO });
        Status::Going
    }
}
