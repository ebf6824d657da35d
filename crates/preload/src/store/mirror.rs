//! Remote memory in this process: pages stay in the mirror, and only the wait makes them remote. A fork takes them along.
//!
//! A page that comes back alone is copied: the copy is under write protection at once, which a page that is moved is not. What it leaves
//! behind is removed with that of others. Of several pages a copy takes longer.

use super::{Found, Store};
use crate::layout::{self, BASE};
use crate::raw;
use crate::states::{self, THERE};
use sys::userfaultfd::Range;

/// Most bytes that are left behind.
const BEHIND_MAX: usize = 256 << 10;

/// The mirror, and what is in it of pages that came back.
#[derive(Default)]
pub(crate) struct Mirror {
    behind: Vec<Range>,
}

fn end(range: Range) -> usize {
    range.start + range.bytes
}

impl Mirror {
    fn empty(&mut self) {
        for run in self.behind.drain(..) {
            let _ = raw::advise(layout::mirror(run.start), run.bytes, libc::MADV_DONTNEED);
        }
    }
}

impl Store for Mirror {
    fn fresh(&mut self, pages: Range) {
        self.vacate(pages);
    }

    fn vacate(&mut self, pages: Range) {
        if self.behind.iter().any(|run| run.start < end(pages) && pages.start < end(*run)) {
            self.empty();
        }
    }

    fn keep(&mut self, _: Range, _: bool) {}

    fn find(&mut self, pages: Range) -> Found {
        if pages.bytes > BASE {
            return Found::InMirror;
        }
        if self.behind.iter().map(|run| run.bytes).sum::<usize>() >= BEHIND_MAX {
            self.empty();
        }
        match self.behind.last_mut() {
            Some(last) if end(*last) == pages.start => last.bytes += pages.bytes,
            _ => self.behind.push(pages),
        }
        Found::At(layout::mirror(pages.start))
    }

    fn forget(&mut self, pages: Range) {
        if states::any(pages, THERE) {
            let _ = raw::advise(layout::mirror(pages.start), pages.bytes, libc::MADV_DONTNEED);
        }
    }
}
