//! Remote memory in this process: pages stay in the mirror, and only the wait makes them remote. A fork takes
//! them along.
//!
//! A page that comes back behind the one before it is copied: the copy is under write protection at once,
//! which a page that is moved is not. What such pages leave behind is removed with one call. Of large pages a
//! copy takes longer, and elsewhere each call is for one page.

use super::{Found, Store, empty_mirror};
use crate::layout::{self, BASE};
use crate::states::{self, THERE};
use sys::userfaultfd::Range;

/// Most bytes that are left behind.
const BEHIND_MAX: usize = 256 << 10;

/// The mirror.
pub(crate) struct Mirror {
    /// Behind the page that came back last.
    next: usize,
    /// What is still here of pages that came back.
    behind: Range,
}

fn end(range: Range) -> usize {
    range.start + range.bytes
}

impl Mirror {
    pub(crate) fn new() -> Mirror {
        Mirror { next: 0, behind: Range { start: 0, bytes: 0 } }
    }

    fn empty(&mut self) {
        empty_mirror(self.behind);
        self.behind.bytes = 0;
    }
}

impl Store for Mirror {
    fn fresh(&mut self, pages: Range) {
        self.vacate(pages);
    }

    fn vacate(&mut self, pages: Range) {
        if self.behind.start < end(pages) && pages.start < end(self.behind) {
            self.empty();
        }
    }

    fn keep(&mut self, _: Range, _: bool) {}

    fn find(&mut self, pages: Range) -> Found {
        let follows = self.next == pages.start;
        self.next = end(pages);
        if pages.bytes > BASE || !follows {
            return Found::InMirror;
        }
        if end(self.behind) != pages.start || self.behind.bytes >= BEHIND_MAX {
            self.empty();
            self.behind.start = pages.start;
        }
        self.behind.bytes += pages.bytes;
        Found::At(layout::mirror(pages.start))
    }

    fn forget(&mut self, pages: Range) {
        if states::any(pages, THERE) {
            empty_mirror(pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;

    fn page(at: usize, count: usize) -> Range {
        Range { start: layout::start() + at * BASE, bytes: count * BASE }
    }

    /// The first byte of a page's place in the mirror.
    fn kept(at: usize) -> &'static mut u8 {
        // SAFETY: addresses that were reserved, and that only this test uses.
        unsafe { &mut *(layout::mirror(page(at, 1).start) as *mut u8) }
    }

    fn is_copied(found: &Found) -> bool {
        matches!(found, Found::At(_))
    }

    #[test]
    fn a_page_behind_the_one_before_is_copied_and_left_behind() {
        alone!({
            let mut mirror = Mirror::new();
            (0..4).for_each(|at| *kept(at) = 1);
            assert!(!is_copied(&mirror.find(page(0, 1))), "nothing came before");
            assert!(is_copied(&mirror.find(page(1, 1))) && is_copied(&mirror.find(page(2, 1))));
            assert!(!is_copied(&mirror.find(page(5, 1))), "it does not follow");
            assert_eq!([*kept(1), *kept(2)], [1, 1], "not yet removed");
            mirror.vacate(page(3, 1));
            assert_eq!(*kept(2), 1, "only what something else comes to");
            mirror.vacate(page(2, 1));
            assert_eq!(
                [*kept(0), *kept(1), *kept(2), *kept(3)],
                [1, 0, 0, 1],
                "all that was left behind, at once"
            );
        });
    }

    #[test]
    fn what_is_left_behind_has_a_bound() {
        alone!({
            let mut mirror = Mirror::new();
            let most = BEHIND_MAX / BASE;
            (0..=most + 1).for_each(|at| *kept(at) = 1);
            let _ = mirror.find(page(0, 1));
            (1..=most).for_each(|at| assert!(is_copied(&mirror.find(page(at, 1)))));
            assert_eq!((*kept(1), *kept(most)), (1, 1));
            let _ = mirror.find(page(most + 1, 1));
            assert_eq!((*kept(1), *kept(most), *kept(most + 1)), (0, 0, 1));
        });
    }

    #[test]
    fn larger_pages_are_moved() {
        alone!({
            let mut mirror = Mirror::new();
            assert!(!is_copied(&mirror.find(page(0, 2))) && !is_copied(&mirror.find(page(2, 2))));
        });
    }

    #[test]
    fn what_the_program_gives_up_is_removed_where_some_of_it_left() {
        alone!({
            let mut mirror = Mirror::new();
            (*kept(0), *kept(1)) = (1, 1);
            mirror.forget(page(0, 2));
            assert_eq!([*kept(0), *kept(1)], [1, 1], "nothing of it is remote");
            states::set(page(1, 1), THERE);
            mirror.forget(page(0, 2));
            assert_eq!([*kept(0), *kept(1)], [0, 0]);
        });
    }
}
