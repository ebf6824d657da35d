//! Remote memory in this process: pages stay in the mirror, and only the wait makes them remote. A fork takes them along.

use super::{Found, Store};
use crate::layout;
use crate::raw;
use sys::userfaultfd::Range;

/// The mirror as it is.
pub(crate) struct Mirror;

impl Store for Mirror {
    fn keep(&mut self, _: Range, _: bool) {}

    fn find(&mut self, _: Range) -> Found {
        Found::InMirror
    }

    fn forget(&mut self, pages: Range) {
        let _ = raw::advise(layout::mirror(pages.start), pages.bytes, libc::MADV_DONTNEED);
    }
}
