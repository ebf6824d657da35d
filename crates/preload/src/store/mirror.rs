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
