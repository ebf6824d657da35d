//! Where threads wait for each other: a while awake, because between two meetings there are microseconds, then
//! asleep.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// Turns of waiting awake, some ten microseconds.
const SPINS: u32 = 1_000;

/// A barrier that a thread can open for good.
#[derive(Debug)]
pub(crate) struct Gate {
    threads: usize,
    came: AtomicUsize,
    /// Grows each time that all have come.
    round: AtomicUsize,
    is_open: AtomicBool,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

/// The gate is open for good.
#[derive(Debug)]
pub(crate) struct Open;

impl Gate {
    pub(crate) fn new(threads: usize) -> Gate {
        Gate {
            threads,
            came: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            is_open: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until all threads have come.
    pub(crate) fn wait(&self) -> Result<(), Open> {
        let round = self.round.load(SeqCst);
        if self.came.fetch_add(1, SeqCst) + 1 == self.threads {
            self.came.store(0, SeqCst);
            self.round.store(round.wrapping_add(1), SeqCst);
            self.wake();
        } else if !(0..SPINS).any(|_| {
            std::hint::spin_loop();
            self.is_over(round)
        }) {
            self.sleep(round);
        }
        if self.is_open.load(SeqCst) { Err(Open) } else { Ok(()) }
    }

    fn is_over(&self, round: usize) -> bool {
        self.round.load(SeqCst) != round || self.is_open.load(SeqCst)
    }

    #[cold]
    fn sleep(&self, round: usize) {
        self.sleepers.fetch_add(1, SeqCst);
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_over(round) {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Whoever is counted as a sleeper has looked before, or has the bed until it sleeps.
    fn wake(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            drop(self.bed.lock());
            self.bell.notify_all();
        }
    }

    /// Opens the gate for good.
    pub(crate) fn open(&self) {
        self.is_open.store(true, SeqCst);
        self.wake();
    }
}

/// Opens the gate when its thread panics.
pub(crate) struct Watch<'a>(pub &'a Gate);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.open();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn nobody_is_ahead_of_another_by_more_than_a_round() {
        let (gate, rounds) = (Gate::new(3), [(); 3].map(|()| AtomicUsize::new(0)));
        std::thread::scope(|scope| {
            for own in 0..3 {
                let (gate, rounds) = (&gate, &rounds);
                scope.spawn(move || {
                    for round in 0..2_000 {
                        rounds[own].store(round, SeqCst);
                        if round % 500 == own {
                            // The others fall asleep.
                            std::thread::sleep(Duration::from_millis(1));
                        }
                        gate.wait().unwrap();
                        let all = rounds.iter().map(|rounds| rounds.load(SeqCst));
                        assert!(all.clone().all(|other| other == round || other == round + 1));
                    }
                });
            }
        });
    }

    #[test]
    fn a_thread_that_panics_keeps_nobody_waiting() {
        let gate = Gate::new(2);
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _watch = Watch(&gate);
                panic!("on purpose");
            });
            assert!(panics.join().is_err());
            assert!(gate.wait().is_err());
        });
    }
}
