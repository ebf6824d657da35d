//! Memory for dlmalloc out of addresses that were reserved, from one end to the other. What was freed is
//! kept: it will be used again.

use crate::layout::BASE;
use dlmalloc::Allocator;
use std::ptr;

/// Where it comes from.
pub(crate) trait Addresses: Send {
    /// Address and length of at least so many bytes that nobody had; nothing when there is no more.
    fn more(&self, bytes: usize) -> Option<(usize, usize)>;
}

/// What dlmalloc asks.
pub(crate) struct Growing<A>(pub(crate) A);

// SAFETY: each call gives memory that nobody else has; it is zero, and never taken back.
unsafe impl<A: Addresses> Allocator for Growing<A> {
    fn alloc(&self, bytes: usize) -> (*mut u8, usize, u32) {
        self.0.more(bytes).map_or((ptr::null_mut(), 0, 0), |(at, bytes)| (at as *mut u8, bytes, 0))
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        BASE
    }
}
