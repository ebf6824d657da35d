//! A reduce: copies its part of every map's output, merges it, reduces it, and writes its output to HDFS.
//!
//! ReduceTask: the copy phase ends when all maps' outputs are there (the barrier); what is still in memory
//! then is merged to disk (`mapreduce.reduce.input.buffer.percent` is 0), too many runs are merged in passes,
//! and the reduce function reads the rest as one stream.

use crate::block_writer::BlockWriter;
use crate::buffer::Buffer;
use crate::env::{Env, Op, Signal, Status};
use crate::fetch::Fetches;
use crate::pace::QUANTUM;
use crate::prepared::core_time;
use crate::remote_calls::RemoteCalls;
use crate::wire::Kind;
use process::{HostId, StreamId, TaskId};
use std::collections::VecDeque;

/// How far a reduce is.
#[derive(Debug)]
enum Phase {
    Starting,
    /// The task on the timeline, and what is fetched.
    Copying(TaskId, Fetches),
    /// The final merge.
    Merging(TaskId),
    /// Function and output; whether the function is at it.
    Reducing(BlockWriter, bool),
    Committing,
}

/// A reduce in its container.
#[derive(Debug)]
pub(crate) struct ReduceTask {
    pub number: u32,
    pub task: TaskId,
    pub calls: RemoteCalls,
    slowness: u64,
    phase: Phase,
    buffer: Buffer,
    /// Large outputs on their way to the disk.
    to_disk: VecDeque<u64>,
    /// The pass of the final merge under way.
    pass: u64,
    /// All that was fetched.
    bytes: u64,
}

impl ReduceTask {
    pub(crate) fn new(number: u32, reuse: bool, env: &mut Env<'_>) -> ReduceTask {
        let task = env.cx.begin_task("reduce", u64::from(number));
        ReduceTask {
            number,
            task,
            calls: env.start_container(reuse),
            slowness: env.prepared.draw_slowness(env.cx.rng()),
            phase: Phase::Starting,
            buffer: Buffer::default(),
            to_disk: VecDeque::new(),
            pass: 0,
            bytes: 0,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it still waits to hear of finished maps.
    pub(crate) fn copies(&self) -> bool {
        matches!(self.phase, Phase::Starting | Phase::Copying(..))
    }

    /// The task of the phase it is in, beside its own.
    pub(crate) fn phase_task(&self) -> Option<TaskId> {
        match self.phase {
            Phase::Copying(task, _) | Phase::Merging(task) => Some(task),
            _ => None,
        }
    }

    /// Maps have finished; `all` is every event so far, for a reduce that begins.
    pub(crate) fn learn(&mut self, events: &[(u32, HostId)], env: &mut Env<'_>) {
        if let Phase::Copying(_, fetches) = &mut self.phase {
            fetches.learn(events);
            fetches.go_on(&mut self.buffer, env);
        }
    }

    /// The data nodes of the next block.
    pub(crate) fn targets(&mut self, nodes: &[HostId], env: &mut Env<'_>) {
        if let Phase::Reducing(writer, _) = &mut self.phase {
            writer.targets(nodes, env);
        }
    }

    pub(crate) fn on(&mut self, op: Op, events: &[(u32, HostId)], env: &mut Env<'_>) -> Status {
        match op {
            Op::Started => env.set_up(Kind::Reduce, &mut self.calls),
            Op::SetUp => self.begin_copying(events, env),
            Op::Stalled => return self.look(env),
            Op::Penalty => {
                if let Phase::Copying(_, fetches) = &mut self.phase {
                    fetches.forgive(env);
                    fetches.go_on(&mut self.buffer, env);
                }
            }
            Op::BufferMerged => env.disk_write(Op::BufferWritten, self.buffer.being_merged()),
            Op::BufferWritten => {
                self.buffer.end_merge();
                self.copy_on(env);
                self.merge_on(env);
            }
            Op::LargeWritten => {
                let bytes = self.to_disk.pop_front().expect("one was written");
                self.buffer.add_run(bytes);
                self.copy_on(env);
            }
            Op::ReadBack if self.pass > 0 => {
                let time = core_time(env.prepared.job.costs.merge_rate, self.pass, self.slowness);
                env.compute(Op::Sorted, time);
            }
            Op::Sorted => env.disk_write(Op::Written, self.pass),
            Op::Written => {
                self.buffer.add_run(std::mem::take(&mut self.pass));
                self.merge_on(env);
            }
            Op::ReadBack => {
                let time = core_time(env.prepared.job.costs.reduce_rate, self.piece(), self.slowness);
                env.compute(Op::Function, time);
            }
            Op::Function => return self.produce(env),
            Op::Committed => return Status::Done,
            Op::Tick | Op::Retry => {}
        }
        Status::Going
    }

    pub(crate) fn signal(&mut self, stream: StreamId, signal: Signal, env: &mut Env<'_>) -> Status {
        match &mut self.phase {
            Phase::Copying(_, fetches) => {
                match signal {
                    Signal::Readable if env.cx.read(stream, 1).end => self.fetched(stream, env),
                    Signal::Closed(_) => {
                        fetches.fail(stream, &mut self.buffer, env);
                        self.copy_on(env);
                    }
                    _ => {}
                }
                Status::Going
            }
            Phase::Reducing(writer, _) => {
                let status = writer.signal(stream, signal, env);
                self.written(status, env)
            }
            _ => Status::Going,
        }
    }

    fn begin_copying(&mut self, events: &[(u32, HostId)], env: &mut Env<'_>) {
        let task = env.cx.begin_task("shuffle", u64::from(self.number));
        let mut fetches = Fetches::new(self.number, env.prepared.maps, task.0);
        fetches.learn(events);
        self.phase = Phase::Copying(task, fetches);
        env.timer(Op::Stalled, env.prepared.job.costs.socket_timeout);
        self.copy_on(env);
    }

    fn fetched(&mut self, stream: StreamId, env: &mut Env<'_>) {
        let Phase::Copying(_, fetches) = &mut self.phase else { return };
        let Some(fetched) = fetches.finish(stream) else { return };
        self.buffer.fetched(fetched.to_memory);
        if fetched.to_disk > 0 {
            self.to_disk.push_back(fetched.to_disk);
            env.disk_write(Op::LargeWritten, fetched.to_disk);
        }
        self.copy_on(env);
    }

    /// Merges a full buffer, fetches on, and goes over to the final merge when all is there.
    fn copy_on(&mut self, env: &mut Env<'_>) {
        let Phase::Copying(task, fetches) = &mut self.phase else { return };
        let complete = fetches.complete();
        if let Some(bytes) = self.buffer.begin_merge(env.prepared, false) {
            env.compute(Op::BufferMerged, core_time(env.prepared.job.costs.merge_rate, bytes, self.slowness));
        }
        fetches.go_on(&mut self.buffer, env);
        if complete && !self.buffer.is_merging() && self.to_disk.is_empty() {
            self.bytes = fetches.bytes;
            env.cx.end_task(*task, self.bytes);
            let task = env.cx.begin_task("merge", u64::from(self.number));
            self.phase = Phase::Merging(task);
            self.merge_on(env);
        }
    }

    /// The next pass of the final merge; after the last, the reduce function begins.
    fn merge_on(&mut self, env: &mut Env<'_>) {
        let Phase::Merging(task) = &self.phase else { return };
        if let Some(bytes) = self.buffer.begin_merge(env.prepared, true) {
            let time = core_time(env.prepared.job.costs.merge_rate, bytes, self.slowness);
            return env.compute(Op::BufferMerged, time);
        }
        if self.buffer.is_merging() {
            return;
        }
        if let Some(bytes) = self.buffer.pass() {
            self.pass = bytes;
            return env.read_back(Op::ReadBack, bytes);
        }
        debug_assert_eq!(self.buffer.on_disk(), self.bytes, "all that was fetched is in the runs");
        env.cx.end_task(*task, self.bytes);
        let copies = env.prepared.job.output_replication;
        self.phase = Phase::Reducing(BlockWriter::new(self.bytes, copies, false, self.task.0), false);
        if self.bytes == 0 {
            return self.commit(env);
        }
        self.reduce_on(env);
    }

    /// What the reduce function gets next.
    fn piece(&self) -> u64 {
        match &self.phase {
            Phase::Reducing(writer, _) => writer.left().min(QUANTUM),
            _ => 0,
        }
    }

    /// Reads the next piece, unless the output is held up.
    fn reduce_on(&mut self, env: &mut Env<'_>) {
        let bytes = self.piece();
        let Phase::Reducing(writer, busy) = &mut self.phase else { return };
        if !*busy && bytes > 0 && !writer.is_full() {
            *busy = true;
            env.read_back(Op::ReadBack, bytes);
        }
    }

    fn produce(&mut self, env: &mut Env<'_>) -> Status {
        let bytes = self.piece();
        let Phase::Reducing(writer, busy) = &mut self.phase else { return Status::Going };
        *busy = false;
        writer.offer(bytes, env);
        self.reduce_on(env);
        Status::Going
    }

    fn written(&mut self, status: Status, env: &mut Env<'_>) -> Status {
        match status {
            Status::Done => self.commit(env),
            Status::Going => self.reduce_on(env),
            Status::Failed => return Status::Failed,
        }
        Status::Going
    }

    fn commit(&mut self, env: &mut Env<'_>) {
        self.phase = Phase::Committing;
        env.commit(Kind::Reduce, &mut self.calls);
    }

    /// Time to see whether transfers go on.
    fn look(&mut self, env: &mut Env<'_>) -> Status {
        match &mut self.phase {
            Phase::Copying(_, fetches) => {
                fetches.give_up(&mut self.buffer, env);
                env.timer(Op::Stalled, env.prepared.job.costs.socket_timeout);
                self.copy_on(env);
                Status::Going
            }
            Phase::Reducing(writer, _) => {
                let status = writer.look(env);
                if status == Status::Failed { status } else { Status::Going }
            }
            _ => Status::Going,
        }
    }
}
