//! Where things lie: one range for the program's memory, its mirror, a byte a page, and this library's own
//! heap.
//!
//! Addresses only: 8 TiB of 128 are taken, memory as it is touched. The distance to the mirror is the same
//! for each page, so that neighbours stay neighbours there.

use crate::raw;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Logarithm of the processor's page size.
pub(crate) const BASE_BITS: u32 = 12;
/// The processor's page size.
pub(crate) const BASE: usize = 1 << BASE_BITS;
/// Of each heap.
pub(crate) const HEAP_BYTES: usize = 128 << 30;
/// How many heaps.
pub(crate) const HEAPS: usize = 8;
/// What heaps take of the range; the rest is runs of pages.
pub(crate) const ALL_HEAPS: usize = HEAPS * HEAP_BYTES;
/// The program's memory.
pub(crate) const BYTES: usize = 4 << 40;
/// Of this library's own heap.
pub(crate) const LOCAL_BYTES: usize = 256 << 30;
/// Behind the program's memory: its mirror, what is missing for whoever calls the handler of faults, and the
/// page states.
pub(crate) const BESIDE_BYTES: usize = BYTES + LARGEST_PAGE + (BYTES >> BASE_BITS);
/// Largest page that remote memory is asked for.
const LARGEST_PAGE: usize = 2 << 20;

static START: AtomicUsize = AtomicUsize::new(0);
static STATES: AtomicUsize = AtomicUsize::new(0);

/// Reserves the addresses.
pub(crate) fn reserve() -> io::Result<()> {
    let at = raw::reserve(BYTES + BESIDE_BYTES + LARGEST_PAGE)?.next_multiple_of(LARGEST_PAGE);
    // A core dump would be of what happens to be local; and nobody wants 8 TiB of it.
    raw::advise(at, 2 * BYTES, libc::MADV_DONTDUMP)?;
    STATES.store(at + 2 * BYTES + LARGEST_PAGE, Relaxed);
    START.store(at, Relaxed);
    Ok(())
}

/// First address of the program's memory; 0 before there is any.
#[inline]
pub(crate) fn start() -> usize {
    START.load(Relaxed)
}

/// Where the page states lie.
#[inline]
pub(crate) fn states() -> usize {
    STATES.load(Relaxed)
}

/// Whether an address belongs to the program's memory, and where in it.
#[inline]
pub(crate) fn offset(address: usize) -> Option<usize> {
    let start = start();
    let offset = address.wrapping_sub(start);
    (start != 0 && offset < BYTES).then_some(offset)
}

/// Whether these bytes touch the program's memory.
pub(crate) fn touches(address: usize, bytes: usize) -> bool {
    let start = start();
    start != 0 && address < start + BYTES && address.saturating_add(bytes) > start
}

/// The place of a page in remote memory.
#[inline]
pub(crate) fn mirror(address: usize) -> usize {
    address + BYTES
}

/// A page behind the mirror that is always missing: who touches it calls the thread that handles faults
/// ([`crate::handler::call`]).
#[inline]
pub(crate) fn bell() -> usize {
    start() + 2 * BYTES
}

/// One that is touched by who wants memory to stay local ([`crate::stacks`]).
#[inline]
pub(crate) fn keeper() -> usize {
    bell() + 2 * BASE
}

/// One that is touched to see how long that takes ([`crate::trip`]).
#[inline]
pub(crate) fn trip() -> usize {
    bell() + BASE
}
