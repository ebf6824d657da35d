//! Stacks that lie in the program's own memory: of coroutines, of threads whose stack the program brought
//! along, of signals' handlers.
//!
//! A thread that holds a lock that the handler of page faults needs may touch no remote page: nobody would
//! bring it. What this library touches meanwhile is its own; but it runs on the stack of whoever calls. Where
//! that may be remote, the part that it can use is kept local before the lock is taken. Only the thread that
//! handles faults can bring what is away: a fault on a page of its own asks it.

use crate::config::is_remote;
use crate::layout::{self, BASE};
use crate::lock::Lock;
use crate::states::{self, PINNED};
use crate::{areas, elsewhere, raw};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use sys::userfaultfd::Range;

/// What this library and the C library need at most below and above a function of this library.
const BELOW: usize = 32 << 10;
const ABOVE: usize = 8 << 10;
/// What is kept beyond that, so that a stack that moves a bit need not be kept again.
const MORE: usize = 32 << 10;

/// What the handler is asked to keep: first address, and bytes.
static START: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
/// Whether there ever was such a stack.
pub(crate) static KEPT: AtomicBool = AtomicBool::new(false);
pub(crate) static ONE_AT_A_TIME: Lock<()> = Lock::new(());

/// The calling thread is about to take a lock that the handler of page faults needs.
#[inline]
pub(crate) fn stay() {
    let here = 0u8;
    let at = &raw const here as usize;
    if let Some(at) = elsewhere::inward(at) {
        stay_at(at);
    }
}

#[cold]
fn stay_at(at: usize) {
    let around = |below, above| areas::clipped((at - below) & !(BASE - 1), below + above);
    let mut is_kept = true;
    states::runs(around(BELOW, ABOVE), |state, _| is_kept &= state == PINNED);
    if !is_kept {
        keep(around(BELOW + MORE, ABOVE));
    }
}

/// What runs on a stack that begins below this address finds it there.
pub(crate) fn keep_below(top: usize) {
    if let Some(last) = elsewhere::inward(top.wrapping_sub(1)) {
        let first = last.saturating_sub(BELOW + MORE) & !(BASE - 1);
        keep(areas::clipped(first, last + 1 - first));
    }
}

/// The range is there, and stays local with what it holds.
pub(crate) fn keep(range: Range) {
    let all = areas::whole(range);
    KEPT.store(true, Relaxed);
    if !is_remote() {
        let pages = (all.start..all.start + all.bytes).step_by(BASE);
        for page in pages.filter(|page| states::at(*page) != PINNED) {
            states::set(Range { start: page, bytes: BASE }, PINNED);
            // It may be nobody's, or a guard.
            let page = elsewhere::real(Range { start: page, bytes: BASE });
            let _ = raw::advise(page.start, BASE, libc::MADV_POPULATE_WRITE);
        }
        // The code that makes memory remote sees that first, or it is seen here.
        fence(SeqCst);
        if !is_remote() {
            return;
        }
    }
    let _held = ONE_AT_A_TIME.lock();
    START.store(all.start, Relaxed);
    BYTES.store(all.bytes, Relaxed);
    // SAFETY: the page is there once somebody has touched it, and nobody writes to it.
    unsafe { (layout::keeper() as *const u8).read_volatile() };
    let _ = raw::advise(layout::keeper(), BASE, libc::MADV_DONTNEED);
}

/// What is to be kept; for the thread that handles faults.
pub(crate) fn asked() -> Range {
    Range { start: START.load(Relaxed), bytes: BYTES.load(Relaxed) }
}
