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
pub(crate) const PRIVATE_BYTES: usize = 256 << 30;
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

/// One that is touched by code that wants memory to stay local ([`crate::stacks`]).
#[inline]
pub(crate) fn keeper() -> usize {
    bell() + 2 * BASE
}

/// One that is touched by code that has made a place elsewhere ([`crate::elsewhere`]).
#[inline]
pub(crate) fn claim() -> usize {
    bell() + 3 * BASE
}

/// Whether it is one of these pages.
pub(crate) fn is_call(address: usize) -> bool {
    address.wrapping_sub(bell()) < CALLS * BASE
}

/// How many there are.
pub(crate) const CALLS: usize = 4;

/// One that is touched to see how long that takes ([`crate::trip`]).
#[inline]
pub(crate) fn trip() -> usize {
    bell() + BASE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;

    #[test]
    fn before_the_addresses_are_reserved_none_is_the_programs() {
        // Other tests reserve them in processes of their own.
        assert_eq!((offset(0), offset(BASE), touches(0, usize::MAX)), (None, None, false));
    }

    #[test]
    fn the_programs_range_has_an_end_on_both_sides() {
        alone!({
            let first = start();
            assert!(first.is_multiple_of(LARGEST_PAGE));
            assert_eq!((offset(first - 1), offset(first), offset(first + BYTES)), (None, Some(0), None));
            assert_eq!(offset(first + BYTES - 1), Some(BYTES - 1));
            assert!(!touches(first - BASE, BASE) && touches(first - BASE, BASE + 1));
            assert!(touches(first + BYTES - 1, 1) && !touches(first + BYTES, 1));
            assert!(touches(first - 1, usize::MAX), "a length beyond all addresses");
        });
    }

    #[test]
    fn nothing_lies_on_something_else() {
        alone!({
            let parts = [
                (start(), BYTES),
                (mirror(start()), BYTES),
                (bell(), BASE),
                (trip(), BASE),
                (keeper(), BASE),
                (claim(), BASE),
            ];
            let states = (states(), BYTES >> BASE_BITS);
            let mut all: Vec<_> = parts.into_iter().chain([states]).collect();
            all.sort_unstable();
            assert!(all.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{all:x?}");
            assert_eq!(states.0 + states.1, start() + BYTES + BESIDE_BYTES);
        });
    }
}
