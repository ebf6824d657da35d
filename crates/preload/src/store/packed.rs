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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::stats;
    use crate::testing::alone;

    fn range(first: usize, count: usize) -> Range {
        Range { start: layout::start() + first * BASE, bytes: count * BASE }
    }

    /// A page leaves that is full of a byte.
    fn leave(store: &mut Packed, at: usize, fill: u8, dirty: bool) {
        let to = layout::mirror(range(at, 1).start) as *mut [u8; BASE];
        // SAFETY: addresses that were reserved, and that only this test uses.
        unsafe { to.write([fill; BASE]) };
        store.keep(range(at, 1), dirty);
        // SAFETY: as above.
        assert_eq!(unsafe { (*to)[7] }, 0, "its place in the mirror is empty again");
    }

    fn content(store: &mut Packed, first: usize, count: usize) -> Vec<u8> {
        let Found::At(at) = store.find(range(first, count)) else { panic!("it is not in the mirror") };
        // SAFETY: the pages that were found, until the next call.
        unsafe { std::slice::from_raw_parts(at as *const u8, count * BASE) }.to_vec()
    }

    #[test]
    fn pages_come_back_as_they_left() {
        alone!({
            let mut store = Packed::new(Codec::Lz4, 2 * BASE);
            leave(&mut store, 0, 3, true);
            leave(&mut store, 1, 4, true);
            assert_eq!(content(&mut store, 0, 2), [[3; BASE], [4; BASE]].concat());
            assert!(store.saved(range(0, 2)) > BASE as u64, "a page of one byte gets much smaller");
            assert_eq!(content(&mut store, 1, 1), [4; BASE], "what came back is still known");
        });
    }

    #[test]
    fn a_page_is_packed_again_only_when_it_has_changed() {
        alone!({
            let mut store = Packed::new(Codec::Lz4, BASE);
            let packed = || stats().packed.get();
            leave(&mut store, 0, 3, true);
            let before = packed();
            leave(&mut store, 0, 3, false);
            assert_eq!(packed(), before, "it is as it was");
            // A thread wrote to it while it left: nobody was seen.
            leave(&mut store, 0, 5, false);
            assert_eq!((packed(), content(&mut store, 0, 1)), (before + 1, vec![5; BASE]));
        });
    }

    #[test]
    fn what_is_given_up_is_forgotten_and_nothing_around_it() {
        alone!({
            let mut store = Packed::new(Codec::Lz4, BASE);
            (0..3).for_each(|at| leave(&mut store, at, 1, true));
            store.forget(range(1, 1));
            assert_eq!(
                store.kept.keys().copied().collect::<Vec<_>>(),
                [range(0, 1).start, range(2, 1).start]
            );
            assert_eq!(store.saved(range(1, 1)), 0);
            store.fresh(range(2, 1));
            assert_eq!(store.kept.len(), 1);
        });
    }
}
