//! Candidates of one length, behind each other.

use crate::items::Level;

/// Candidates of one length, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    length: usize,
    codes: Vec<u32>,
}

impl Candidates {
    /// No candidate of `length` codes yet.
    pub fn new(length: usize) -> Self {
        assert!(length > 1, "pass 1 has no candidates");
        Self { length, codes: Vec::new() }
    }

    /// Appends one that is behind all others.
    pub fn push(&mut self, candidate: &[u32]) {
        assert_eq!(candidate.len(), self.length, "candidates of a pass have one length");
        self.codes.extend_from_slice(candidate);
    }

    /// Appends one for each of `lasts`, which ascend: `candidate` with its last code replaced.
    pub(super) fn extend(&mut self, candidate: &mut [u32], lasts: &[u32]) {
        assert_eq!(candidate.len(), self.length, "candidates of a pass have one length");
        self.codes.reserve(lasts.len() * self.length);
        for last in lasts {
            candidate[self.length - 1] = *last;
            self.codes.extend_from_slice(candidate);
        }
    }

    /// Codes of each.
    pub fn length(&self) -> usize {
        self.length
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.codes.len() / self.length.max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The codes of all, one candidate after the other.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The one at a place.
    pub fn get(&self, index: u32) -> &[u32] {
        &self.codes[index as usize * self.length..][..self.length]
    }

    /// In order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        self.codes.chunks_exact(self.length.max(1))
    }

    /// Appends those that at least `minimum` transactions hold.
    pub fn large(&self, counts: impl IntoIterator<Item = u64>, minimum: u64, found: &mut Level) {
        for (candidate, count) in self.iter().zip(counts) {
            if count >= minimum {
                found.push(candidate, count);
            }
        }
    }
}
