//! How long a fault takes beyond its handling: into the kernel, to the thread that handles it, and back to
//! the program.
//!
//! That thread can't see it, so the program's measures it: it touches a page that is always missing, by its
//! own clock, and takes off what the handler's clock shows. It is measured as soon as memory is remote, and
//! again by the first thread more, because another processor may have to be woken for that. A forked child
//! has what its parent measured.

use crate::exchange::Exchange;
use crate::layout::{self, BASE};
use crate::lock::Lock;
use crate::raw;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use sys::cpu::{monotonic_ns, thread_time};

/// Odd, for a median; all of them take a fraction of a millisecond.
const TIMES: usize = 33;

/// What it takes, in ns.
static TRIP_NS: AtomicU64 = AtomicU64::new(0);
/// Of that, processor time of the program's thread.
static PROGRAM_NS: AtomicU64 = AtomicU64::new(0);
/// What the handler took of the last one.
static HANDLED_NS: AtomicU64 = AtomicU64::new(0);
/// Whether it was measured with several threads.
static OF_SEVERAL: AtomicBool = AtomicBool::new(false);
static ONE_AT_A_TIME: Lock<()> = Lock::new(());

/// As it was measured last, in ns.
pub(crate) fn ns() -> u64 {
    TRIP_NS.load(Relaxed)
}

/// Processor time that it takes of the thread that faults, in ns.
pub(crate) fn program_ns() -> u64 {
    PROGRAM_NS.load(Relaxed)
}

/// Memory is remote: called by a thread of the program.
pub(crate) fn measure() {
    let Some(_held) = ONE_AT_A_TIME.try_lock() else { return };
    let mut took = [0; TIMES];
    let before = thread_time();
    for took in &mut took {
        let page = layout::trip() as *const u8;
        let began = monotonic_ns();
        // SAFETY: the page is there once somebody has touched it, and nobody writes to it.
        unsafe { page.read_volatile() };
        *took = (monotonic_ns() - began).saturating_sub(HANDLED_NS.load(Relaxed));
        let _ = raw::advise(layout::trip(), BASE, libc::MADV_DONTNEED);
    }
    let program = (thread_time() - before) / TIMES as u32;
    PROGRAM_NS.store(program.as_nanos() as u64, Relaxed);
    took.sort_unstable();
    TRIP_NS.store(took[TIMES / 2], Relaxed);
}

/// A thread more begins, while memory is remote.
pub(crate) fn measure_with_several() {
    if !OF_SEVERAL.swap(true, Relaxed) {
        measure();
    }
}

/// The page was touched at a time; called by the thread that handles faults.
pub(crate) fn answer(with: &Exchange, since: u64) {
    with.zero_page(layout::trip());
    HANDLED_NS.store(monotonic_ns() - since, Relaxed);
    with.wake_page(layout::trip());
}
