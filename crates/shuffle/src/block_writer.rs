//! An HDFS client that writes a file: block by block, each through a pipeline of data nodes (HDFS
//! architecture, "Replication pipelining"). Output of reduces, and logs.
//!
//! The master, as the NameNode, chooses the data nodes of each block. A block whose pipeline fails is written
//! again from its beginning, without the first node of the failed pipeline.

use crate::env::{Env, Op, Signal, Status};
use crate::wire::Message;
use process::{HostId, Payload, StreamId};

/// What may wait for the stream before the producer has to (`dfs.client.write.max-packets-in-flight`, 80
/// packets of 64 KiB).
const WAITING_MAX: u64 = 80 * (64 << 10);
/// Pipelines that may fail one after the other.
const TRIES: u32 = 5;

/// A file being written.
#[derive(Debug)]
pub(crate) struct BlockWriter {
    /// Not yet produced.
    left: u64,
    /// Produced, not yet taken by a stream.
    waiting: u64,
    copies: u32,
    log: bool,
    /// Ties flows to the task.
    group: u64,
    block: Option<Block>,
    /// Data nodes have been asked for.
    asked: bool,
    tries: u32,
    avoid: Option<HostId>,
    /// Bytes that pipelines have acknowledged.
    pub written: u64,
    /// Bytes taken by streams, for the look at progress.
    progress: u64,
    seen: u64,
}

/// A block under way.
#[derive(Debug)]
struct Block {
    stream: StreamId,
    first: HostId,
    bytes: u64,
    sent: u64,
    closed: bool,
}

impl BlockWriter {
    pub(crate) fn new(bytes: u64, copies: u32, log: bool, group: u64) -> BlockWriter {
        BlockWriter {
            left: bytes,
            waiting: 0,
            copies,
            log,
            group,
            block: None,
            asked: false,
            tries: 0,
            avoid: None,
            written: 0,
            progress: 0,
            seen: 0,
        }
    }

    /// Whether the producer has to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting >= WAITING_MAX
    }

    /// Bytes that have not been produced yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Takes `bytes` from the producer.
    pub(crate) fn offer(&mut self, bytes: u64, env: &mut Env<'_>) {
        self.left -= bytes;
        self.waiting += bytes;
        self.go_on(env);
    }

    /// The data nodes of the next block.
    pub(crate) fn targets(&mut self, nodes: &[HostId], env: &mut Env<'_>) {
        let Some((first, rest)) = nodes.split_first().filter(|_| std::mem::take(&mut self.asked)) else {
            return;
        };
        let bytes = (self.left + self.waiting).min(env.prepared.job.block);
        let request = Message::Write { bytes, group: self.group, rest: rest.to_vec() };
        let stream = env.open(*first, self.group, &request);
        env.cx.drain(stream);
        self.block = Some(Block { stream, first: *first, bytes, sent: 0, closed: false });
        self.seen = u64::MAX;
        env.timer(Op::Stalled, env.prepared.job.costs.socket_timeout);
        self.go_on(env);
    }

    /// Something happened to a stream of this work.
    pub(crate) fn signal(&mut self, stream: StreamId, signal: Signal, env: &mut Env<'_>) -> Status {
        let Some(block) = self.block.as_ref().filter(|block| block.stream == stream) else {
            return Status::Going;
        };
        let bytes = block.bytes;
        match signal {
            Signal::Writable => self.go_on(env),
            Signal::Readable if env.cx.read(stream, 1).end => {
                if self.block.as_ref().is_some_and(|block| !block.closed) {
                    return self.fail(env);
                }
                self.block = None;
                self.written += bytes;
                (self.tries, self.avoid) = (0, None);
                self.go_on(env);
            }
            Signal::Readable => {}
            Signal::Closed(_) => return self.fail(env),
        }
        self.status()
    }

    /// No progress since the last look: the pipeline is given up.
    pub(crate) fn look(&mut self, env: &mut Env<'_>) -> Status {
        if self.block.is_none() {
            return Status::Going;
        }
        let stalled = self.progress == self.seen;
        self.seen = self.progress;
        let waits = self.waiting == 0 && self.block.as_ref().is_some_and(|block| !block.closed);
        if stalled && !waits {
            return self.fail(env);
        }
        env.timer(Op::Stalled, env.prepared.job.costs.socket_timeout);
        Status::Going
    }

    fn status(&self) -> Status {
        let done = self.left + self.waiting == 0 && self.block.is_none();
        if done { Status::Done } else { Status::Going }
    }

    fn go_on(&mut self, env: &mut Env<'_>) {
        let Some(block) = &mut self.block else {
            if self.waiting > 0 && !self.asked {
                self.ask(env);
            }
            return;
        };
        let offered = self.waiting.min(block.bytes - block.sent);
        if offered > 0 {
            let taken = env.cx.write(block.stream, Payload::Zeros(offered));
            block.sent += taken;
            self.waiting -= taken;
            self.progress += taken;
        }
        if block.sent == block.bytes && !block.closed {
            block.closed = true;
            self.progress += 1;
            env.cx.close(block.stream);
        }
    }

    fn ask(&mut self, env: &mut Env<'_>) {
        self.asked = true;
        let copies = self.copies as u8;
        env.calls.push(Message::AddBlock { work: env.work, copies, log: self.log, without: self.avoid });
    }

    /// Gives the pipeline up; what was sent of the block will be sent again.
    fn fail(&mut self, env: &mut Env<'_>) -> Status {
        let Some(block) = self.block.take() else { return Status::Going };
        env.abort(block.stream);
        self.waiting += block.sent;
        self.avoid = Some(block.first);
        self.tries += 1;
        if self.tries > TRIES {
            return Status::Failed;
        }
        self.go_on(env);
        Status::Going
    }
}
