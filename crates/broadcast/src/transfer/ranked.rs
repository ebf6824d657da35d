//! Chunks by urgency: first those for which children of the requester wait, then those of its own trees, then
//! the rest; within each class the lowest number first.

use super::set::ChunkSet;

/// Somebody behind waits for it, and it is of a tree of theirs.
pub(crate) const AWAITED: u8 = 0;
/// Of one's own trees.
pub(crate) const OWN: u8 = 1;
/// Of other trees: it comes when there is room.
pub(crate) const OTHER: u8 = 2;

const CLASSES: usize = 3;

/// Chunks, each in a class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked([ChunkSet; CLASSES]);

impl Ranked {
    /// Puts a chunk into a class, out of the one that it was in.
    pub(crate) fn insert(&mut self, class: u8, chunk: u32) {
        self.remove(chunk);
        self.0[usize::from(class)].insert(chunk);
    }

    /// Takes a chunk out; its class.
    pub(crate) fn remove(&mut self, chunk: u32) -> Option<u8> {
        (0..).zip(&mut self.0).find_map(|(class, set)| set.remove(chunk).then_some(class))
    }

    /// The class of a chunk that is there.
    pub(crate) fn class(&self, chunk: u32) -> Option<u8> {
        (0..).zip(&self.0).find_map(|(class, set)| set.contains(chunk).then_some(class))
    }

    /// The next one.
    pub(crate) fn first(&mut self) -> Option<u32> {
        self.0.iter_mut().find_map(ChunkSet::first)
    }

    /// The chunks of a class.
    pub(crate) fn of(&self, class: u8) -> &ChunkSet {
        &self.0[usize::from(class)]
    }

    /// All, as they go.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(ChunkSet::iter)
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(ChunkSet::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_in_one_class_and_goes_by_it() {
        let mut ranked = Ranked::default();
        for (class, chunk) in [(OTHER, 1), (OWN, 7), (OWN, 5), (AWAITED, 9), (OTHER, 5)] {
            ranked.insert(class, chunk);
        }
        assert_eq!(ranked.iter().collect::<Vec<_>>(), [9, 7, 1, 5]);
        assert_eq!((ranked.len(), ranked.first(), ranked.class(5)), (4, Some(9), Some(OTHER)));
        assert_eq!((ranked.remove(5), ranked.remove(5), ranked.class(5)), (Some(OTHER), None, None));
    }
}
