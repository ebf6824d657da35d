//! Where finished walks go: each comes once, in no particular order.
//!
//! A sink belongs to one source. Its state is saved and read back together with the ledger, so that both
//! speak of the same walks.

use std::collections::BTreeMap;

/// A walk that is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedWalk<'a> {
    /// The node where it began.
    pub start: u32,
    /// Its number among the walks from there.
    pub number: u32,
    /// The node where it ended.
    pub end: u32,
    /// Its steps.
    pub steps: u32,
    /// The nodes passed, the start first; empty when paths are not asked for.
    pub path: &'a [u32],
}

/// Takes in finished walks.
pub trait Sink: Send {
    /// A walk is finished.
    fn finished(&mut self, walk: &FinishedWalk<'_>);
    /// A walk was finished in an earlier life, and is read back from a journal; its steps are known with its
    /// path only.
    fn recall(&mut self, walk: &FinishedWalk<'_>) {
        self.finished(walk);
    }
    /// Appends its state to a snapshot.
    fn save(&self, out: &mut Vec<u8>);
    /// Goes back to a state that was saved; without one, to none. Returns false when it can't read it.
    fn restore(&mut self, state: Option<&[u8]>) -> bool;
}

/// Keeps nothing: for those who only want to know how long it takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Sink for Ignore {
    fn finished(&mut self, _: &FinishedWalk<'_>) {}
    fn save(&self, _: &mut Vec<u8>) {}
    fn restore(&mut self, _: Option<&[u8]>) -> bool {
        true
    }
}

/// How often walks from each start ended at each node: personalised PageRank by end points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// (start, end) → walks.
    pub counts: BTreeMap<(u32, u32), u64>,
}

impl Sink for Ends {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        *self.counts.entry((walk.start, walk.end)).or_default() += 1;
    }

    fn save(&self, out: &mut Vec<u8>) {
        for ((start, end), count) in &self.counts {
            out.extend(start.to_le_bytes());
            out.extend(end.to_le_bytes());
            out.extend(count.to_le_bytes());
        }
    }

    fn restore(&mut self, state: Option<&[u8]>) -> bool {
        let state = state.unwrap_or_default();
        let row = |row: &[u8]| {
            let word = |at: usize| u32::from_le_bytes(*row[at..].first_chunk().expect("sixteen bytes"));
            let count = u64::from_le_bytes(*row[8..].first_chunk().expect("sixteen bytes"));
            ((word(0), word(4)), count)
        };
        self.counts = state.chunks_exact(16).map(row).collect();
        state.len().is_multiple_of(16)
    }
}
