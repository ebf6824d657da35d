//! Where threads wait for each other, spinning: between two meetings there are microseconds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Turns of waiting before the processor is offered to others.
const SPINS: u32 = 2_000;

/// A barrier that a thread which panics opens for good.
#[derive(Debug)]
pub(crate) struct Gate {
    threads: usize,
    came: AtomicUsize,
    /// Grows each time that all have come.
    round: AtomicUsize,
    broken: AtomicBool,
}

/// A thread has panicked.
#[derive(Debug)]
pub(crate) struct Broken;

impl Gate {
    pub(crate) fn new(threads: usize) -> Gate {
        Gate {
            threads,
            came: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads have come.
    pub(crate) fn wait(&self) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.came.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.came.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
        } else {
            let mut turns = 0;
            while self.round.load(Ordering::Acquire) == round && !self.broken.load(Ordering::Acquire) {
                turns += 1;
                if turns < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
        if self.broken.load(Ordering::Acquire) { Err(Broken) } else { Ok(()) }
    }

    /// Opens the gate for good.
    pub(crate) fn tear_down(&self) {
        self.broken.store(true, Ordering::Release);
    }
}

/// Opens the gate when its thread panics.
pub(crate) struct Watch<'a>(pub &'a Gate);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.tear_down();
        }
    }
}
