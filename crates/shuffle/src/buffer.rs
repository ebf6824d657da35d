//! Where a reduce keeps what it has fetched: in memory up to a limit, merged to runs on the disk
//! (`mapreduce.reduce.shuffle.input.buffer.percent`, `.merge.percent`, `.memory.limit.percent`).
//!
//! Rules as in Hadoop's MergeManagerImpl: a fetch may begin while no more than the limit is in use, so it may
//! pass the limit once; what is fetched and not being merged is merged when it reaches its limit.

use crate::prepared::PreparedJob;

/// Runs that are merged at a time (`mapreduce.task.io.sort.factor`).
const SORT_FACTOR: usize = 10;

/// The fetched outputs of a reduce.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// Being fetched into memory, fetched, or being merged.
    used: u64,
    /// Fetched into memory, not being merged.
    fetched: u64,
    /// Being merged to disk.
    merging: u64,
    /// Sorted runs on the disk.
    runs: Vec<u64>,
}

impl Buffer {
    /// Takes room for a map output that is about to be fetched; `None` when there is none now, else whether
    /// it goes to memory.
    pub(crate) fn reserve(&mut self, bytes: u64, prepared: &PreparedJob) -> Option<bool> {
        if bytes > prepared.large {
            return Some(false);
        }
        if self.used > prepared.buffer_limit {
            return None;
        }
        self.used += bytes;
        Some(true)
    }

    /// A fetch into memory has failed.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.used -= bytes;
    }

    /// A fetch into memory is complete.
    pub(crate) fn fetched(&mut self, bytes: u64) {
        self.fetched += bytes;
    }

    /// What is to be merged to disk now: at the limit, or all when `last`.
    pub(crate) fn begin_merge(&mut self, prepared: &PreparedJob, last: bool) -> Option<u64> {
        let due = if last { self.fetched > 0 } else { self.fetched >= prepared.merge_limit };
        if !due || self.merging > 0 {
            return None;
        }
        self.merging = std::mem::take(&mut self.fetched);
        Some(self.merging)
    }

    /// The merged buffer is on the disk.
    pub(crate) fn end_merge(&mut self) {
        let merged = std::mem::take(&mut self.merging);
        self.used -= merged;
        self.runs.push(merged);
    }

    pub(crate) fn is_merging(&self) -> bool {
        self.merging > 0
    }

    /// Bytes that are being merged to disk.
    pub(crate) fn being_merged(&self) -> u64 {
        self.merging
    }

    /// A run is on the disk.
    pub(crate) fn add_run(&mut self, bytes: u64) {
        self.runs.push(bytes);
    }

    /// The smallest runs, to be merged into one, while there are more than can be merged while reducing.
    pub(crate) fn pass(&mut self) -> Option<u64> {
        if self.runs.len() <= SORT_FACTOR {
            return None;
        }
        self.runs.sort_unstable();
        let merged = SORT_FACTOR.min(self.runs.len() - SORT_FACTOR + 1);
        Some(self.runs.drain(..merged).sum())
    }

    /// Bytes in runs.
    pub(crate) fn on_disk(&self) -> u64 {
        self.runs.iter().sum()
    }
}
