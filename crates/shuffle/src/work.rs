//! What runs on a compute node: a map, a reduce, or the upload of a container's log.

use crate::block_writer::BlockWriter;
use crate::env::{Env, Op, Signal, Status};
use crate::map_task::MapTask;
use crate::reduce_task::ReduceTask;
use crate::wire::Kind;
use process::{HostId, StreamId, TaskId};

/// A piece of work.
#[derive(Debug)]
pub(crate) enum Work {
    Map(MapTask),
    Reduce(Box<ReduceTask>),
    Upload(Upload),
}

/// A log on its way to HDFS: it holds no container.
#[derive(Debug)]
pub(crate) struct Upload {
    task: TaskId,
    writer: BlockWriter,
}

impl Upload {
    pub(crate) fn new(number: u64, env: &mut Env<'_>) -> Upload {
        let task = env.cx.begin_task("log-upload", number);
        let bytes = env.prepared.job.log_bytes;
        let mut writer = BlockWriter::new(bytes, 1, true, task.0);
        writer.offer(bytes, env);
        Upload { task, writer }
    }
}

impl Work {
    /// The task that it is, if it is in a container.
    pub(crate) fn task(&self) -> Option<(Kind, u32)> {
        match self {
            Work::Map(map) => Some((Kind::Map, map.number)),
            Work::Reduce(reduce) => Some((Kind::Reduce, reduce.number)),
            Work::Upload(_) => None,
        }
    }

    /// Tasks on the timeline, and what each has dealt with.
    fn timeline(&self) -> [Option<(TaskId, u64)>; 2] {
        match self {
            Work::Map(map) => [Some((map.task, map.bytes())), None],
            Work::Reduce(reduce) => {
                [reduce.phase_task().map(|task| (task, 0)), Some((reduce.task, reduce.bytes()))]
            }
            Work::Upload(upload) => [Some((upload.task, upload.writer.written)), None],
        }
    }

    /// Ends its tasks on the timeline.
    pub(crate) fn end(&self, done: bool, env: &mut Env<'_>) {
        for (task, bytes) in self.timeline().into_iter().flatten() {
            env.cx.end_task(task, if done { bytes } else { 0 });
        }
    }

    pub(crate) fn on(&mut self, op: Op, events: &[(u32, HostId)], env: &mut Env<'_>) -> Status {
        match self {
            Work::Map(map) => map.on(op, env),
            Work::Reduce(reduce) => reduce.on(op, events, env),
            Work::Upload(upload) if op == Op::Stalled => upload.writer.look(env),
            Work::Upload(_) => Status::Going,
        }
    }

    pub(crate) fn signal(&mut self, stream: StreamId, signal: Signal, env: &mut Env<'_>) -> Status {
        match self {
            Work::Map(map) => map.signal(stream, signal, env),
            Work::Reduce(reduce) => reduce.signal(stream, signal, env),
            Work::Upload(upload) => upload.writer.signal(stream, signal, env),
        }
    }

    /// The master has answered a remote call.
    pub(crate) fn answered(&mut self, env: &mut Env<'_>) {
        match self {
            Work::Map(map) => map.calls.answered(env),
            Work::Reduce(reduce) => reduce.calls.answered(env),
            Work::Upload(_) => {}
        }
    }

    pub(crate) fn targets(&mut self, nodes: &[HostId], env: &mut Env<'_>) {
        match self {
            Work::Map(_) => {}
            Work::Reduce(reduce) => reduce.targets(nodes, env),
            Work::Upload(upload) => upload.writer.targets(nodes, env),
        }
    }
}
