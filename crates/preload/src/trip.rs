//! How long a fault takes beyond its handling: into the kernel, to the thread that handles it, and back to
//! the program.
//!
//! That thread can't see it, so the program's measures it: it touches a page that is always missing, by its
//! own clock, and takes off what the handler's clock shows. It is measured as soon as memory is remote, and
//! again by the first thread more, because another processor may have to be woken for that. A forked child
//! has what its parent measured.
//!
//! A processor that has slept for longer takes longer to be woken, and a handler can have other threads'
//! faults to handle first. So one fault of many is sampled: between the end of its handling and the thread's
//! next fault, time in which the thread had no processor was spent on the way.

use crate::config::config;
use crate::exchange::Exchange;
use crate::layout::{self, BASE};
use crate::lock::Lock;
use crate::raw;
use crate::threads;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;
use sys::cpu::{monotonic_ns, thread_time, time_of_thread};
use units::Bytes;

/// Odd, for a median; all of them take some milliseconds at most.
const TIMES: usize = 31;
/// Nor does the handler wait longer for each of them.
const MOST_NS: u64 = 50_000;

/// What it takes, in ns.
static TRIP_NS: AtomicU64 = AtomicU64::new(0);
/// Of that, processor time of the program's thread.
static PROGRAM_NS: AtomicU64 = AtomicU64::new(0);
/// What the handler took of the last one.
static HANDLED_NS: AtomicU64 = AtomicU64::new(0);
/// Whether it was measured with several threads.
static OF_SEVERAL: AtomicBool = AtomicBool::new(false);
static ONE_AT_A_TIME: Lock<()> = Lock::new(());

/// One fault of so many is sampled.
const EVERY: u64 = 32;

/// A fault that is sampled.
struct Sample {
    thread: u32,
    /// Processor time of the thread, which stands while the fault is handled.
    used_ns: u64,
    /// When the thread could go on.
    ended: Option<u64>,
}

/// What faults take on their way, from those that are sampled.
#[derive(Default)]
pub(crate) struct Samples {
    faults: u64,
    sample: Option<Sample>,
    /// The latest ones, in ns.
    away: [u64; TIMES],
    taken: usize,
}

impl Samples {
    /// A thread has a fault.
    pub(crate) fn begins(&mut self, thread: u32, now: u64) {
        if let Some(sample) = self.sample.take_if(|sample| sample.thread == thread)
            && let (Some(ended), Some(used_ns)) = (sample.ended, used_ns(thread))
        {
            self.take(now.saturating_sub(ended).saturating_sub(used_ns.saturating_sub(sample.used_ns)));
        }
        self.faults += 1;
        if self.faults.is_multiple_of(EVERY) {
            self.sample = used_ns(thread).map(|used_ns| Sample { thread, used_ns, ended: None });
        }
    }

    /// A thread's fault is handled.
    pub(crate) fn ends(&mut self, thread: u32, now: u64) {
        if let Some(sample) = self.sample.as_mut().filter(|sample| sample.thread == thread) {
            sample.ended.get_or_insert(now);
        }
    }

    /// The mean, without those after which the thread waited for something else: a median would leave out
    /// processors that have fallen asleep.
    fn take(&mut self, away_ns: u64) {
        self.away[self.taken % TIMES] = away_ns;
        self.taken += 1;
        if self.taken.is_multiple_of(TIMES) {
            let mut sorted = self.away;
            sorted.sort_unstable();
            let most = sorted[TIMES / 2].saturating_mul(4);
            let counted = &sorted[..sorted.partition_point(|away| *away <= most)];
            let mean = counted.iter().sum::<u64>() / counted.len() as u64;
            TRIP_NS.store(program_ns() + mean, Relaxed);
        }
    }
}

fn used_ns(thread: u32) -> Option<u64> {
    time_of_thread(thread).map(|used| used.as_nanos() as u64)
}

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
    let (before, mut giving_back) = (thread_time(), Duration::ZERO);
    for took in &mut took {
        let page = layout::trip() as *const u8;
        let began = monotonic_ns();
        // SAFETY: the page is there once somebody has touched it, and nobody writes to it.
        unsafe { page.read_volatile() };
        *took = (monotonic_ns() - began).saturating_sub(HANDLED_NS.load(Relaxed));
        let came = monotonic_ns();
        let _ = raw::advise(layout::trip(), BASE, libc::MADV_DONTNEED);
        giving_back += Duration::from_nanos(monotonic_ns() - came);
    }
    let program = (thread_time() - before).saturating_sub(giving_back) / TIMES as u32;
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
#[expect(clippy::disallowed_methods, reason = "it waits as for a page")]
pub(crate) fn answer(with: &Exchange, since: u64) {
    if !threads::is_one()
        && let Some(cost) = config().cost
    {
        // As for a page: meanwhile the processor that the thread had falls asleep.
        let wait = cost.fault(1, 0, Bytes::new(config().page as u64)).as_ps() / 1000;
        std::thread::sleep(Duration::from_nanos(wait.min(MOST_NS)));
    }
    with.zero_page(layout::trip());
    HANDLED_NS.store(monotonic_ns() - since, Relaxed);
    with.wake_page(layout::trip());
}
