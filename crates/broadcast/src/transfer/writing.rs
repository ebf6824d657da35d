//! A chunk that has come and is being written.

use super::store::Hash;
use process::{HostId, Payload, StreamId};

/// Chunks on their way to the disk at most.
pub(super) const WRITES: usize = 8;

/// A chunk on its way to the disk.
pub(super) struct Writing {
    pub chunk: u32,
    pub from: (HostId, StreamId),
    pub pieces: Vec<Payload>,
    pub hash: Hash,
}
