//! Threads that run the parts round by round. A part whose thread does not come, since its processor has
//! other things to do, is run by the thread that leads.

#[cfg(loom)]
use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Condvar, Mutex},
};
#[cfg(not(loom))]
use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize},
    sync::{Condvar, Mutex},
};
use std::{sync::PoisonError, sync::atomic::Ordering::SeqCst};

/// Looks at something that another thread is about to do, before one sleeps: some tens of microseconds.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 2_000 };
/// Looks at a part that nobody has begun, before the leader takes it.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 100 };
/// After so many rounds in a row in which a thread has not come, the leader goes without the others for some.
const MISSES: u32 = 4;
const ROUNDS_ALONE: u32 = 200;
/// The same if parts have fewer events than this per round, over some rounds: less than waiting costs.
const FEW_EVENTS: u64 = 100;
const ROUNDS_SEEN: u64 = 100;

/// What threads agree on.
#[derive(Debug)]
pub(crate) struct Crew {
    threads: usize,
    round: AtomicU64,
    parts: Vec<Turn>,
    /// Nothing more is to be done, or a thread has panicked.
    is_over: AtomicBool,
    /// Where the others wait for a round to begin, and the leader for it to end.
    outside: Bench,
    inside: Bench,
}

/// The last round in which somebody has begun a part, and in which it was done. Parts have cache lines of
/// their own, since several threads write there at a time.
#[derive(Debug)]
#[repr(align(128))]
struct Turn {
    begun: AtomicU64,
    done: AtomicU64,
}

/// Where threads wait: awake for a while, then asleep.
#[derive(Debug, Default)]
struct Bench {
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

/// What the leader has learnt of the others.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    misses: u32,
    /// Rounds that it still does alone.
    alone: u32,
    /// The round and the events so far, when it last looked at how much there is to do.
    seen: (u64, u64),
}

/// A thread has panicked.
#[derive(Debug)]
pub(crate) struct Failed;

impl Crew {
    pub(crate) fn new(threads: usize, parts: usize) -> Crew {
        let turn = |_| Turn { begun: AtomicU64::new(0), done: AtomicU64::new(0) };
        Crew {
            threads,
            round: AtomicU64::new(0),
            parts: (0..parts).map(turn).collect(),
            is_over: AtomicBool::new(false),
            outside: Bench::default(),
            inside: Bench::default(),
        }
    }

    /// The round that is going on.
    pub(crate) fn round(&self) -> u64 {
        self.round.load(SeqCst)
    }

    /// Leads through a round: all parts are run once, each by `run`.
    pub(crate) fn lead(&self, lead: &mut Lead, run: impl Fn(usize)) -> Result<(), Failed> {
        let round = self.round.fetch_add(1, SeqCst) + 1;
        let alone = self.threads == 1 || lead.alone > 0;
        if !alone {
            self.outside.wake();
        }
        self.take_own(0, round, &run);
        let mut has_missed = false;
        for part in (0..self.parts.len()).filter(|part| part % self.threads != 0) {
            let has_begun = || self.parts[part].begun.load(SeqCst) == round;
            if !alone && look(PATIENCE, has_begun) {
                continue;
            }
            has_missed |= self.take(part, round, &run);
        }
        lead.learn(alone, has_missed);
        for Turn { done, .. } in &self.parts {
            self.inside.wait(|| done.load(SeqCst) == round || self.is_over.load(SeqCst));
        }
        if self.is_over.load(SeqCst) { Err(Failed) } else { Ok(()) }
    }

    /// Follows, as another thread, until all is over.
    pub(crate) fn follow(&self, thread: usize, run: impl Fn(usize)) {
        let _watch = Watch(self);
        let mut last = 0;
        loop {
            self.outside.wait(|| self.round() != last || self.is_over.load(SeqCst));
            if self.is_over.load(SeqCst) {
                return;
            }
            last = self.round();
            self.take_own(thread, last, &run);
        }
    }

    /// Runs the parts of a thread that nobody else has begun.
    fn take_own(&self, thread: usize, round: u64, run: impl Fn(usize)) {
        for part in (thread..self.parts.len()).step_by(self.threads) {
            self.take(part, round, &run);
        }
    }

    /// Runs a part, unless somebody else has begun it in this round.
    fn take(&self, part: usize, round: u64, run: impl Fn(usize)) -> bool {
        let is_free = self.parts[part].begun.compare_exchange(round - 1, round, SeqCst, SeqCst).is_ok();
        if is_free {
            run(part);
            self.parts[part].done.store(round, SeqCst);
            self.inside.wake();
        }
        is_free
    }

    /// Sends all others home.
    pub(crate) fn end(&self) {
        self.is_over.store(true, SeqCst);
        self.outside.wake();
        self.inside.wake();
    }
}

impl Bench {
    /// Waits until something is so.
    fn wait(&self, is_so: impl Fn() -> bool) {
        if look(LOOKS, &is_so) {
            return;
        }
        self.sleepers.fetch_add(1, SeqCst);
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        while !is_so() {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Wakes all who sleep. A thread that is counted among them has looked before, or it has the bed until it
    /// sleeps. One that is not yet counted will see what has changed.
    fn wake(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            drop(self.bed.lock());
            self.bell.notify_all();
        }
    }
}

impl Lead {
    /// Goes without the others for some rounds if all that the parts of the crew did lately was little.
    pub(crate) fn see(&mut self, crew: &Crew, events: u64) {
        let (rounds, done) = (crew.round() - self.seen.0, events - self.seen.1);
        if rounds >= ROUNDS_SEEN {
            self.seen = (crew.round(), events);
            if done < rounds * FEW_EVENTS * crew.parts.len() as u64 {
                self.alone = self.alone.max(ROUNDS_ALONE);
            }
        }
    }

    fn learn(&mut self, alone: bool, has_missed: bool) {
        if alone {
            self.alone = self.alone.saturating_sub(1);
            return;
        }
        self.misses = if has_missed { self.misses + 1 } else { 0 };
        if self.misses == MISSES {
            (self.misses, self.alone) = (0, ROUNDS_ALONE);
        }
    }
}

/// Looks so often whether something is so.
fn look(times: u32, is_so: impl Fn() -> bool) -> bool {
    (0..times).any(|_| {
        spin_loop();
        is_so()
    })
}

/// Ends all when its thread panics.
struct Watch<'a>(&'a Crew);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// All orders in which the steps of two threads can happen:
/// `RUSTFLAGS="--cfg loom" cargo test -p incast-sim --lib --release crew`.
#[cfg(all(test, loom))]
mod orders {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn each_part_is_run_once_a_round_and_nobody_sleeps_for_ever() {
        loom::model(|| {
            let crew = Arc::new(Crew::new(2, 2));
            let runs: Arc<[AtomicU64; 2]> = Arc::new([(); 2].map(|()| AtomicU64::new(0)));
            let run = |runs: &[AtomicU64; 2], part: usize| {
                runs[part].fetch_add(1, SeqCst);
            };
            let follower = {
                let (crew, runs) = (Arc::clone(&crew), Arc::clone(&runs));
                loom::thread::spawn(move || crew.follow(1, |part| run(&runs, part)))
            };
            let mut lead = Lead::default();
            for round in 1..=2 {
                crew.lead(&mut lead, |part| run(&runs, part)).unwrap();
                assert!(runs.iter().all(|runs| runs.load(SeqCst) == round));
            }
            crew.end();
            follower.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::disallowed_methods, reason = "a thread has to be late")]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Each part is run once a round, whoever sleeps.
    #[test]
    fn each_part_is_run_once_a_round() {
        let (crew, mut lead) = (Crew::new(3, 7), Lead::default());
        let runs: Vec<AtomicU64> = (0..7).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 1..3 {
                let (crew, runs) = (&crew, &runs);
                scope.spawn(move || {
                    crew.follow(thread, |part| {
                        let run = runs[part].fetch_add(1, SeqCst);
                        if run % 700 == part as u64 {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    });
                });
            }
            for round in 1..=3_000 {
                let run = |part: usize| {
                    runs[part].fetch_add(1, SeqCst);
                };
                crew.lead(&mut lead, run).unwrap();
                assert!(runs.iter().all(|runs| runs.load(SeqCst) == round));
                if round % 1_000 == 0 {
                    // The others fall asleep.
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            crew.end();
        });
    }

    #[test]
    fn a_thread_that_panics_keeps_nobody_waiting() {
        let (crew, mut lead) = (Crew::new(2, 2), Lead::default());
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| crew.follow(1, |_| panic!("on purpose")));
            while crew.lead(&mut lead, |_| {}).is_ok() {}
            assert!(panics.join().is_err());
        });
    }
}
