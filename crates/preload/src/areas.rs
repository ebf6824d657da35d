//! What of the program's range of addresses is not memory that may leave.
//!
//! Programs reserve far more addresses than they use (a heap of a Java machine, a cage of V8), and make them
//! usable part by part. And they may ask for something else in the middle of what they have: a file, memory
//! to run code from. That is the kernel's, as if it lay elsewhere. How parts become one or the other is in
//! [`crate::granted`].

use crate::config::config;
use crate::layout::{self, BASE, BYTES};
use crate::lock::Lock;
use farmem::intervals::Intervals;
use sys::userfaultfd::Range;

/// Addresses that the program was given, and never could use so far.
pub(crate) static UNUSED: Lock<Intervals> = Lock::new(Intervals::new());
/// Mappings of the kernel's.
pub(crate) static KERNEL: Lock<Intervals> = Lock::new(Intervals::new());

/// As intervals have them.
pub(crate) fn addresses(range: Range) -> std::ops::Range<usize> {
    range.start..range.start + range.bytes
}

fn range(of: std::ops::Range<usize>) -> Range {
    Range { start: of.start, bytes: of.len() }
}

/// The program has these addresses, but can't use them yet.
pub(crate) fn reserve(these: Range) {
    UNUSED.quietly().insert(addresses(these));
}

/// What of a range the program could use at any time.
pub(crate) fn used(of: Range) -> Vec<Range> {
    UNUSED.quietly().outside(addresses(of)).map(range).collect()
}

/// What of a range is the kernel's.
pub(crate) fn kernels(of: Range) -> Vec<Range> {
    KERNEL.quietly().inside(addresses(of)).map(range).collect()
}

/// What of a range is not.
pub(crate) fn ours(of: Range) -> Vec<Range> {
    KERNEL.quietly().outside(addresses(of)).map(range).collect()
}

/// What of these bytes lies in the program's range.
pub(crate) fn clipped(start: usize, bytes: usize) -> Range {
    let first = start.max(layout::start());
    let end = start.saturating_add(bytes).next_multiple_of(BASE).min(layout::start() + BYTES);
    Range { start: first, bytes: end.saturating_sub(first) }
}

/// The pages of remote memory that a range touches.
pub(crate) fn whole(range: Range) -> Range {
    let page = config().page;
    let start = range.start / page * page;
    Range { start, bytes: (range.start + range.bytes).next_multiple_of(page) - start }
}
