//! Remote memory in this process, compressed: it takes less memory, and less of a link.
//!
//! A page that comes back stays here too, so that it need not be packed again if nobody wrote to it. That is
//! known by a hash (XXH3), because a thread can write to a page while it leaves.

use super::packing::Packing;
use super::{Found, Store, empty_mirror, page_at, pages_of};
use crate::layout::{self, BASE};
use crate::raw;
use farmem::codec::Codec;
use farmem::wire::PAGE;
use std::collections::BTreeMap;
use sys::userfaultfd::Range;
use twox_hash::XxHash3_64;

/// A page that left.
struct Kept {
    sum: u64,
    bytes: Box<[u8]>,
}

/// Pages by their address.
pub(crate) struct Packed {
    packing: Packing,
    kept: BTreeMap<usize, Kept>,
    /// Those that come back, as they were.
    coming: Vec<[u8; PAGE]>,
}

impl Packed {
    pub(crate) fn new(codec: Codec, page_bytes: usize) -> Packed {
        let coming = vec![[0; PAGE]; page_bytes / PAGE];
        Packed { packing: Packing::new(codec), kept: BTreeMap::new(), coming }
    }
}

impl Store for Packed {
    fn fresh(&mut self, pages: Range) {
        self.forget(pages);
    }

    fn keep(&mut self, pages: Range, dirty: bool) {
        for at in pages_of(pages) {
            // SAFETY: it has left and is in the mirror, where nobody writes, until it is dropped below.
            let page = unsafe { page_at(layout::mirror(at)) };
            let sum = XxHash3_64::oneshot(page);
            if dirty || self.kept.get(&at).is_none_or(|kept| kept.sum != sum) {
                self.kept.insert(at, Kept { sum, bytes: self.packing.pack(page).into() });
            }
        }
        empty_mirror(pages);
    }

    fn find(&mut self, pages: Range) -> Found {
        for (at, page) in pages_of(pages).zip(&mut self.coming) {
            let kept = self.kept.get(&at).map(|kept| self.packing.unpack(&kept.bytes, page));
            if kept != Some(Ok(())) {
                raw::die("a page of remote memory is not what was kept");
            }
        }
        Found::At(self.coming.as_ptr() as usize)
    }

    fn saved(&self, pages: Range) -> u64 {
        let kept = self.kept.range(pages.start..pages.start + pages.bytes);
        kept.map(|(_, kept)| (BASE - kept.bytes.len()) as u64).sum()
    }

    fn forget(&mut self, pages: Range) {
        let gone: Vec<usize> =
            self.kept.range(pages.start..pages.start + pages.bytes).map(|(at, _)| *at).collect();
        for at in gone {
            self.kept.remove(&at);
        }
    }
}
