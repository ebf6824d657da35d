//! Where each page of the processor's size is: a byte a page, in memory of its own that is zero until it is
//! touched.

use crate::layout::{self, BASE_BITS, BYTES};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use sys::userfaultfd::Range;

/// Nobody has written it: it is zero.
pub(crate) const NEW: u8 = 0;
/// In local memory.
pub(crate) const HERE: u8 = 1;
/// In remote memory.
pub(crate) const THERE: u8 = 2;
/// In local memory, but out of the program's reach, to see whether it is used: its content is in the mirror.
pub(crate) const HIDDEN: u8 = 3;

/// In local memory, and there it stays: memory that code runs from, and what is next to it. The kernel's
/// mappings are marked so too.
pub(crate) const PINNED: u8 = 4;

fn all() -> &'static [AtomicU8] {
    // SAFETY: that many bytes were reserved for nothing else, and stay.
    unsafe { std::slice::from_raw_parts(layout::states() as *const AtomicU8, BYTES >> BASE_BITS) }
}

fn of(range: Range) -> &'static [AtomicU8] {
    let first = (range.start - layout::start()) >> BASE_BITS;
    &all()[first..first + (range.bytes >> BASE_BITS)]
}

/// State of the page at an address.
#[inline]
pub(crate) fn at(address: usize) -> u8 {
    all()[(address - layout::start()) >> BASE_BITS].load(Relaxed)
}

/// All pages of a range are in this state from now on.
pub(crate) fn set(range: Range, state: u8) {
    of(range).iter().for_each(|page| page.store(state, Relaxed));
}

/// Whether a page of the range is in this state.
pub(crate) fn any(range: Range, state: u8) -> bool {
    of(range).iter().any(|page| page.load(Relaxed) == state)
}

/// Calls with each longest run of pages in the same state.
pub(crate) fn runs(range: Range, mut each: impl FnMut(u8, Range)) {
    let pages = of(range);
    let mut first = 0;
    while first < pages.len() {
        let state = pages[first].load(Relaxed);
        let same = pages[first..].iter().take_while(|page| page.load(Relaxed) == state).count();
        each(state, Range { start: range.start + (first << BASE_BITS), bytes: same << BASE_BITS });
        first += same;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::BASE;
    use crate::testing::alone;

    #[test]
    fn runs_are_the_longest_of_one_state() {
        alone!({
            let pages = |first: usize, count: usize| Range {
                start: layout::start() + first * BASE,
                bytes: count * BASE,
            };
            set(pages(2, 3), HERE);
            set(pages(5, 1), THERE);
            let mut seen = Vec::new();
            runs(pages(0, 8), |state, run| seen.push((state, run)));
            assert_eq!(
                seen,
                [(NEW, pages(0, 2)), (HERE, pages(2, 3)), (THERE, pages(5, 1)), (NEW, pages(6, 2))]
            );
            assert!(any(pages(0, 8), THERE) && !any(pages(0, 5), THERE) && !any(pages(0, 8), HIDDEN));
            assert_eq!((at(pages(4, 1).start), at(pages(5, 1).start + BASE - 1)), (HERE, THERE));
            set(pages(3, 3), NEW);
            assert!(any(pages(2, 1), HERE) && !any(pages(3, 5), HERE));
        });
    }
}
