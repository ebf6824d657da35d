//! What of the program's range of addresses is not memory that may leave.
//!
//! Programs reserve far more addresses than they use (a heap of a Java machine, a cage of V8), and make them
//! usable part by part. And they may ask for something else in the middle of what they have: a file, memory
//! to run code from. That is the kernel's, as if it lay elsewhere.

use crate::config::config;
use crate::handler;
use crate::layout::{self, BASE, BYTES};
use crate::lock::Lock;
use crate::pager;
use crate::states::{self, PINNED};
use farmem::intervals::Intervals;
use sys::userfaultfd::Range;

/// Addresses that the program was given, and never could use so far.
pub(crate) static UNUSED: Lock<Intervals> = Lock::new(Intervals::new());
/// Mappings of the kernel's.
pub(crate) static KERNEL: Lock<Intervals> = Lock::new(Intervals::new());

fn addresses(range: Range) -> std::ops::Range<usize> {
    range.start..range.start + range.bytes
}

fn range(of: std::ops::Range<usize>) -> Range {
    Range { start: of.start, bytes: of.len() }
}

/// The program has these addresses, but can't use them yet.
pub(crate) fn reserve(these: Range) {
    UNUSED.quietly().insert(addresses(these));
}

/// The program may use these from now on.
pub(crate) fn commit(these: Range) {
    let bytes = UNUSED.quietly().remove(addresses(these));
    if bytes > 0 {
        handler::give(bytes);
    }
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

/// The range is the kernel's from now on, and what it held is gone.
pub(crate) fn hand_over(these: Range) {
    handler::forget(these);
    pin(these);
    UNUSED.quietly().remove(addresses(these));
    KERNEL.quietly().insert(addresses(these));
}

/// The pages of remote memory that a range touches.
pub(crate) fn whole(range: Range) -> Range {
    let page = config().page;
    let start = range.start / page * page;
    Range { start, bytes: (range.start + range.bytes).next_multiple_of(page) - start }
}

/// The range stays local from now on, with what it holds; so does the rest of the pages of remote memory that
/// it touches.
pub(crate) fn pin(these: Range) {
    let all = whole(these);
    while let Some(away) = pager::quietly(|pager| match pager {
        Some(pager) => pager.pin(all),
        None => {
            states::set(all, PINNED);
            None
        }
    }) {
        // A thread that waits for it may also write to it meanwhile.
        let _ = crate::raw::protect(away & !(BASE - 1), BASE, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the program has this memory; it is fetched by being read.
        unsafe { (away as *const u8).read_volatile() };
    }
}

/// The range may leave again, as far as it is whole pages of remote memory; it holds nothing.
pub(crate) fn unpin(these: Range) {
    let page = config().page;
    let (first, end) = (these.start.next_multiple_of(page), (these.start + these.bytes) / page * page);
    if first < end {
        let inner = Range { start: first, bytes: end - first };
        pager::quietly(|_| {
            states::runs(inner, |state, run| {
                if state == PINNED {
                    states::set(run, states::NEW);
                }
            });
        });
    }
}
