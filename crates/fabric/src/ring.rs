//! A FIFO of copies in a power-of-two ring that grows, and shrinks only when it is told to.
//!
//! Entries are addressed by a running number, so that a position inside the queue (the first packet
//! that has not begun to be sent) stays valid while the head moves.

/// Entries for which an empty ring may keep its memory.
const KEPT: usize = 1024;

/// A growing ring of `T`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    tail: u32,
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    fn slot(&self, number: u32) -> usize {
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The running number of the first entry.
    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    /// The entry with running number `number`, which must be in the ring.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &T {
        debug_assert!(number.wrapping_sub(self.head) < self.len());
        &self.slots[self.slot(number)]
    }

    /// The first entry.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(&self.slots[self.slot(self.head)]) }
    }

    /// Gives the memory of an empty ring back if it has grown large.
    pub(crate) fn release(&mut self) {
        if self.is_empty() && self.slots.len() > KEPT {
            *self = Ring::default();
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: T) {
        *self.append() = entry;
    }

    /// Appends an entry that the caller fills in where it lies.
    #[inline(always)]
    pub(crate) fn append(&mut self) -> &mut T {
        if self.len() as usize == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.tail = self.tail.wrapping_add(1);
        &mut self.slots[slot]
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let entry = *self.front()?;
        self.advance();
        Some(entry)
    }

    /// Takes the first entry off, which can be read where it lies until another is appended.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.head);
        self.advance();
        Some(&self.slots[slot])
    }

    /// All entries, and what is left of others in their places.
    pub(crate) fn places(&mut self) -> &mut [T] {
        &mut self.slots
    }

    /// Takes the first entry off, which must be there.
    #[inline]
    pub(crate) fn advance(&mut self) {
        debug_assert!(!self.is_empty());
        self.head = self.head.wrapping_add(1);
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); (self.slots.len() * 2).max(4)].into_boxed_slice();
        let mask = slots.len() - 1;
        for number in 0..self.len() {
            let number = self.head.wrapping_add(number);
            slots[number as usize & mask] = self.slots[self.slot(number)];
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_as_a_deque(steps in proptest::collection::vec(any::<Option<u16>>(), 0..300)) {
            let mut ring = Ring { slots: Box::default(), head: u32::MAX - 3, tail: u32::MAX - 3 };
            let mut deque = VecDeque::new();
            for step in steps {
                match step {
                    Some(entry) => { ring.push(entry); deque.push_back(entry); }
                    None => prop_assert_eq!(ring.pop(), deque.pop_front()),
                }
                prop_assert_eq!(ring.len() as usize, deque.len());
                prop_assert_eq!(ring.front(), deque.front());
                for (i, entry) in deque.iter().enumerate() {
                    prop_assert_eq!(ring.get(ring.head().wrapping_add(i as u32)), entry);
                }
            }
        }
    }
}
