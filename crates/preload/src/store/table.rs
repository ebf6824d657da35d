//! A number a page of the program's memory: addresses for all of them, and memory for those that one was
//! noted of.

use crate::layout::{self, BASE_BITS, BYTES};
use crate::raw;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU16, AtomicU64};

/// What can be noted: all its bits may be zero, and are at first.
pub(super) trait Number {}
impl Number for AtomicU16 {}
impl Number for AtomicU64 {}

/// The numbers.
pub(super) struct Table<T> {
    at: usize,
    of: PhantomData<T>,
}

impl<T: Number> Table<T> {
    pub(super) fn new() -> Table<T> {
        let at = raw::reserve((BYTES >> BASE_BITS) * size_of::<T>());
        let at = at.unwrap_or_else(|_| raw::die("no room for addresses: ulimit -v unlimited"));
        Table { at, of: PhantomData }
    }

    /// That of the page at an address.
    pub(super) fn of(&self, address: usize) -> &T {
        // SAFETY: so many were reserved, they are zero at first, and the kernel aligns them to a page.
        unsafe { &*(self.at as *const T).add((address - layout::start()) >> BASE_BITS) }
    }
}
