//! How far the comparison of earlier content is.

use super::set::ChunkSet;

/// How far what was here before is compared.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) chunks: u32,
    /// Of these, the source's.
    pub(super) same: ChunkSet,
}

impl Compared {
    /// The next chunk to compare.
    pub(super) fn next(&self) -> u32 {
        self.chunks
    }
}
