//! A set of chunks: one bit each.

/// Some of the chunks of a file.
#[derive(Clone, Debug, Default)]
pub struct ChunkSet {
    words: Vec<u64>,
    len: u32,
    /// No chunk is in a word before this one.
    from: usize,
}

impl ChunkSet {
    /// All of the first `chunks`.
    #[must_use]
    pub fn full(chunks: u32) -> ChunkSet {
        let mut words = vec![u64::MAX; chunks as usize / 64];
        if !chunks.is_multiple_of(64) {
            words.push((1 << (chunks % 64)) - 1);
        }
        ChunkSet { words, len: chunks, from: 0 }
    }

    /// Adds a chunk; whether it is new.
    pub fn insert(&mut self, chunk: u32) -> bool {
        let (word, bit) = (chunk as usize / 64, 1 << (chunk % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += u32::from(new);
        self.from = self.from.min(word);
        new
    }

    /// Takes a chunk out; whether it was there.
    pub fn remove(&mut self, chunk: u32) -> bool {
        let (word, bit) = (chunk as usize / 64, 1 << (chunk % 64));
        let there = self.words.get(word).is_some_and(|bits| bits & bit != 0);
        if there {
            self.words[word] &= !bit;
            self.len -= 1;
        }
        there
    }

    /// Whether a chunk is there.
    #[must_use]
    pub fn contains(&self, chunk: u32) -> bool {
        self.words.get(chunk as usize / 64).is_some_and(|bits| bits & (1 << (chunk % 64)) != 0)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lowest.
    pub fn first(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        while self.words[self.from] == 0 {
            self.from += 1;
        }
        Some(self.from as u32 * 64 + self.words[self.from].trailing_zeros())
    }

    /// All, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            let next = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
            let each = std::iter::successors(Some(bits).filter(|bits| *bits != 0), next);
            each.map(move |bits| word as u32 * 64 + bits.trailing_zeros())
        })
    }

    /// Adds all of `other`.
    pub(crate) fn extend(&mut self, other: &ChunkSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(bits, others)| *bits |= others);
        self.len = self.words.iter().map(|bits| bits.count_ones()).sum();
        self.from = self.from.min(other.from);
    }

    /// The place of its first word that isn't empty, and the words from there on: its form on the wire.
    pub(crate) fn to_words(&self) -> (u32, &[u64]) {
        let first = self.words.iter().position(|bits| *bits != 0).unwrap_or(self.words.len());
        let last = self.words.iter().rposition(|bits| *bits != 0).map_or(first, |last| last + 1);
        (first as u32, &self.words[first..last])
    }

    /// The set of such words.
    pub(crate) fn from_words(first: u32, words: &[u64]) -> ChunkSet {
        let len = words.iter().map(|bits| bits.count_ones()).sum();
        let mut all = vec![0; first as usize];
        all.extend_from_slice(words);
        ChunkSet { words: all, len, from: first as usize }
    }
}

impl PartialEq for ChunkSet {
    fn eq(&self, other: &ChunkSet) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for ChunkSet {}

impl FromIterator<u32> for ChunkSet {
    fn from_iter<I: IntoIterator<Item = u32>>(chunks: I) -> ChunkSet {
        let mut set = ChunkSet::default();
        for chunk in chunks {
            set.insert(chunk);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(changes in prop::collection::vec((any::<bool>(), 0u32..300), 0..200)) {
            let (mut set, mut model) = (ChunkSet::default(), BTreeSet::new());
            for (add, chunk) in changes {
                if add {
                    prop_assert_eq!(set.insert(chunk), model.insert(chunk));
                } else {
                    prop_assert_eq!(set.remove(chunk), model.remove(&chunk));
                }
                prop_assert_eq!(set.first(), model.first().copied());
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len() as usize, model.len());
            let (first, words) = set.to_words();
            prop_assert_eq!(ChunkSet::from_words(first, words), set);
        }
    }

    #[test]
    fn full_has_all() {
        for chunks in [0, 1, 63, 64, 65, 200] {
            let set = ChunkSet::full(chunks);
            assert_eq!(set.iter().collect::<Vec<_>>(), (0..chunks).collect::<Vec<_>>());
            assert_eq!(set.len(), chunks);
        }
    }
}
