//! A parent, as its child sees it.

use crate::topology::RATE_MAX;
use crate::transfer::message::Message;
use crate::transfer::ranked::Ranked;
use crate::transfer::set::ChunkSet;
use process::StreamId;

/// A parent.
#[derive(Debug, Default)]
pub(crate) struct Parent {
    pub stream: Option<StreamId>,
    /// Asked of it and not come.
    pub orders: Ranked,
    /// Of these, taken back, and no answer yet.
    pub dropping: ChunkSet,
    /// The plan's, in bit/s; 0 when it is no parent by the plan.
    pub rate: u64,
    /// Certain chunks come from it, whatever the plan says.
    pub direct: bool,
    /// Chunks that it had at hand when it sent the last one.
    pub ready: u32,
    /// Chunks that came on the present stream.
    pub got: u32,
    /// Bytes that came in all.
    pub bytes: u64,
    /// Chunks came since the last look.
    pub active: bool,
    /// Looks since anything came on the present stream.
    pub quiet: u32,
    /// Looks for which nothing moves to it.
    pub rest: u32,
    /// Looks since which it owes an answer to what was taken back, though it is no parent any more.
    pub owes: u32,
}

impl Parent {
    /// What it is told of its pace: the plan's rate, or as fast as it can.
    pub(super) fn pace(&self) -> Message {
        Message::Pace { rate: if self.rate > 0 { self.rate } else { RATE_MAX as u64 } }
    }
}
