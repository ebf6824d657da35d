//! Compression of pages on their way, with what it takes: on the time of who waits for the page.

use crate::layout::BASE;
use crate::stats::stats;
use farmem::codec::{Codec, Damaged, Packer};
use farmem::wire::PAGE;
use sys::cpu::monotonic_ns;

const _: () = assert!(PAGE == BASE, "a page that travels is the processor's");

/// Packs and unpacks pages, and counts.
pub(crate) struct Packing(Packer);

impl Packing {
    pub(crate) fn new(codec: Codec) -> Packing {
        Packing(Packer::new(codec))
    }

    /// The page as it travels: packed, or as it is where it does not get smaller.
    pub(crate) fn pack<'a>(&'a mut self, page: &'a [u8; PAGE]) -> &'a [u8] {
        let since = monotonic_ns();
        let packed = self.0.pack(page);
        stats().packed.add(1);
        stats().pack_ns.add(monotonic_ns() - since);
        packed.unwrap_or(page)
    }

    /// The page as it was.
    pub(crate) fn unpack(&mut self, travelled: &[u8], page: &mut [u8; PAGE]) -> Result<(), Damaged> {
        if let Ok(whole) = <&[u8; PAGE]>::try_from(travelled) {
            *page = *whole;
            return Ok(());
        }
        let since = monotonic_ns();
        let done = self.0.unpack(travelled, page);
        stats().unpacked.add(1);
        stats().unpack_ns.add(monotonic_ns() - since);
        done
    }
}
