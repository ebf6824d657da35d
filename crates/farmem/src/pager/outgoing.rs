//! Pages on their way back to remote memory, one request's worth at a time: compressed, sent and kept in the
//! order in which they left.

use std::collections::VecDeque;
use std::ops::Range;

/// What has left local memory, and is not yet known to be kept.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Ranks of pages, a request each.
    groups: VecDeque<Vec<u32>>,
    /// The first so many are compressed, and so many of these sent.
    packed: usize,
    sent: usize,
    pages: u32,
    /// How many requests there ever were.
    pushed: u64,
}

impl Outgoing {
    /// These leave, so many in a request.
    pub(super) fn push(&mut self, pages: &[u32], pages_a_request: u32) {
        let before = self.groups.len();
        self.pages += pages.len() as u32;
        self.groups.extend(pages.chunks(pages_a_request as usize).map(<[u32]>::to_vec));
        self.pushed += (self.groups.len() - before) as u64;
    }

    /// How many requests there ever were.
    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Whether the first so many requests are kept.
    pub(super) fn has_kept(&self, requests: u64) -> bool {
        self.pushed - self.groups.len() as u64 >= requests
    }

    /// All pages.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether one of these pages is among them, or among those not yet sent.
    pub(super) fn holds(&self, pages: Range<u32>, unsent: bool) -> bool {
        let skipped = if unsent { self.sent } else { 0 };
        self.groups.iter().skip(skipped).flatten().any(|page| pages.contains(page))
    }

    /// Pages of the request that is to be compressed next.
    pub(super) fn unpacked(&self) -> Option<u32> {
        self.groups.get(self.packed).map(|group| group.len() as u32)
    }

    /// That request is compressed.
    pub(super) fn pack(&mut self) {
        self.packed += 1;
    }

    /// Pages of the request that is to be sent next, which is sent from now on.
    pub(super) fn send(&mut self) -> Option<u32> {
        let group = self.groups.get(self.sent).filter(|_| self.sent < self.packed)?;
        self.sent += 1;
        Some(group.len() as u32)
    }

    /// The oldest request is kept, which has so many pages. Whether that can be.
    #[must_use]
    pub(super) fn kept(&mut self, pages: u32) -> bool {
        let right = self.sent > 0 && self.groups[0].len() as u32 == pages;
        if right {
            self.groups.pop_front();
            (self.sent, self.packed) = (self.sent - 1, self.packed - 1);
            self.pages -= pages;
        }
        right
    }
}
