//! The receiving side of an HDFS write: to the disk, and on to the next data node of the pipeline.
//!
//! What the next node doesn't take, and what the disk hasn't written, holds the sender back. A node closes
//! its side when all is on its disk and the next node has closed its own: that is the acknowledgement.

use crate::pace::{Pace, QUANTUM};
use process::{Context, Payload, StreamId};
use std::collections::VecDeque;

/// Taken in and not yet on the disk at most.
const DISK_AHEAD: u64 = 8 << 20;

/// A block that is coming in.
#[derive(Debug)]
pub(crate) struct Receive {
    left: u64,
    pace: Pace,
    /// Pieces on their way to the disk.
    to_disk: VecDeque<u64>,
    on_way: u64,
    /// The next node of the pipeline.
    next: Option<StreamId>,
    /// Not taken by the next node.
    relay: u64,
    relay_closed: bool,
    next_done: bool,
    closed: bool,
}

impl Receive {
    pub(crate) fn new(bytes: u64, next: Option<StreamId>) -> Receive {
        Receive {
            left: bytes,
            pace: Pace::default(),
            to_disk: VecDeque::new(),
            on_way: 0,
            next_done: next.is_none(),
            next,
            relay: 0,
            relay_closed: false,
            closed: false,
        }
    }

    pub(crate) fn next(&self) -> Option<StreamId> {
        self.next
    }

    /// Goes on: there is something to read, or room for it. False: the block ends too early.
    #[must_use]
    pub(crate) fn go_on(&mut self, stream: StreamId, cx: &mut dyn Context) -> bool {
        loop {
            self.pass_on(cx);
            if self.relay > 0 || self.on_way >= DISK_AHEAD {
                break;
            }
            let n = self.pace.read(stream, QUANTUM, stream.0, cx).min(self.left);
            if n == 0 {
                break;
            }
            self.left -= n;
            self.to_disk.push_back(n);
            self.on_way += n;
            cx.disk_write(stream.0, n);
            self.relay += if self.next.is_some() { n } else { 0 };
        }
        self.pass_on(cx);
        self.acknowledge(stream, cx);
        self.left == 0 || !self.pace.ended
    }

    pub(crate) fn tick(&mut self) {
        self.pace.tick();
    }

    pub(crate) fn disk_done(&mut self) {
        self.on_way -= self.to_disk.pop_front().unwrap_or(0);
    }

    /// The next node has all.
    pub(crate) fn next_done(&mut self) {
        self.next_done = true;
    }

    fn pass_on(&mut self, cx: &mut dyn Context) {
        let Some(next) = self.next else { return };
        if self.relay > 0 {
            self.relay -= cx.write(next, Payload::Zeros(self.relay));
        }
        if self.left == 0 && self.relay == 0 && !self.relay_closed {
            self.relay_closed = true;
            cx.close(next);
        }
    }

    fn acknowledge(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.left == 0 && self.on_way == 0 && self.next_done && self.pace.ended && !self.closed {
            self.closed = true;
            cx.close(stream);
        }
    }
}
