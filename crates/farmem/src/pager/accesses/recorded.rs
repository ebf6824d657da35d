//! What a traced program did, one thread at a time.
//!
//! A trace has the time that passed between faults. Between two accesses a thread computes as long as passed
//! in the trace. It begins as soon as the first thread has done its steps before: that one starts the others,
//! as a rule. Other waits of threads for each other, such as locks, are not in a trace.

use crate::steps::{Step, Steps};
use crate::trace::{Record, Trace};
use std::ops::Range;
use std::sync::Arc;
use units::Time;

/// Steps of a trace, which threads took them, and when these computed.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The steps.
    pub steps: Steps,
    threads: Vec<Thread>,
}

/// What one thread did.
#[derive(Clone, Debug)]
struct Thread {
    /// Its steps.
    runs: Vec<Range<usize>>,
    /// Before which step it computed, and for how long in nanoseconds.
    computed: Vec<(usize, u64)>,
    /// Nanoseconds from the trace's beginning up to which that goes.
    clock: u64,
}

impl Recorded {
    /// Those of a trace in pages of 2^`page_bits` bytes; nothing when these are smaller than the trace's or
    /// above 2 MiB.
    pub fn new(trace: &Trace<'_>, page_bits: u8) -> Option<Recorded> {
        let mut dealing = Dealing::new();
        let steps = Steps::told(trace, page_bits, |step, record| dealing.record(step, record))?;
        Some(Recorded { threads: dealing.end(steps.steps.len()), steps })
    }

    /// How many threads there are, at least one.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }
}

/// Steps on their way to the threads that took them.
struct Dealing {
    threads: Vec<Thread>,
    /// By the trace's number of a thread.
    of: [Option<usize>; 256],
    /// Whose turn it is.
    now: usize,
    /// Nanoseconds from the trace's beginning.
    clock: u64,
}

impl Dealing {
    fn new() -> Dealing {
        Dealing { threads: Vec::new(), of: [None; 256], now: 0, clock: 0 }
    }

    /// The record makes the steps from this one on.
    fn record(&mut self, step: usize, record: &Record) {
        self.clock = self.clock.saturating_add(record.computed_ns());
        match record {
            Record::Read(of) | Record::Write(of) => self.turn(usize::from(of.thread), step),
            // No record says which thread gives memory back, and what leaves does so for the fault that
            // follows.
            Record::Dirty(_) | Record::Free(_) => {}
            Record::Pass(_) | Record::Asked(_) => return,
        }
        self.compute(step);
    }

    /// It is this thread's turn, which may be new.
    fn turn(&mut self, number: usize, step: usize) {
        let is_known = self.of[number];
        let thread = is_known.unwrap_or(self.threads.len());
        if is_known.is_some() && thread == self.now {
            return;
        }
        self.close(step);
        if is_known.is_none() {
            self.of[number] = Some(thread);
            let clock = self.threads.first().map_or(0, |first| first.clock);
            self.threads.push(Thread { runs: Vec::new(), computed: Vec::new(), clock });
        }
        self.now = thread;
        self.threads[thread].runs.push(step..step);
    }

    /// The thread whose turn it is has computed up to now.
    fn compute(&mut self, step: usize) {
        let Some(thread) = self.threads.get_mut(self.now) else { return };
        let ns = self.clock - thread.clock;
        thread.clock = self.clock;
        match thread.computed.last_mut() {
            _ if ns == 0 => {}
            Some((before, sum)) if *before == step => *sum = sum.saturating_add(ns),
            _ => thread.computed.push((step, ns)),
        }
    }

    /// The thread whose turn it was had the steps before this one.
    fn close(&mut self, step: usize) {
        if let Some(run) = self.threads.get_mut(self.now).and_then(|thread| thread.runs.last_mut()) {
            run.end = step;
        }
    }

    /// All of them, behind so many steps.
    fn end(mut self, steps: usize) -> Vec<Thread> {
        if self.threads.is_empty() {
            self.turn(0, 0);
        }
        self.close(steps);
        self.compute(steps);
        self.threads
    }
}

/// Where a thread is.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    of: Arc<Recorded>,
    thread: usize,
    run: usize,
    step: usize,
    /// Of its computations.
    computed: usize,
}

impl Reading {
    pub(super) fn new(of: Arc<Recorded>, thread: usize) -> Reading {
        let step = of.threads[thread].runs[0].start;
        Reading { of, thread, run: 0, step, computed: 0 }
    }

    pub(super) fn recorded(&self) -> &Recorded {
        &self.of
    }

    /// The step of the trace up to which the first thread comes before this one begins.
    pub(super) fn begins(&self) -> usize {
        self.of.threads[self.thread].runs[0].start
    }

    /// The number of the next step in the trace.
    pub(super) fn at(&self) -> usize {
        self.step
    }

    /// The next step, and what is computed before it.
    pub(super) fn next(&mut self, computed: &mut Time) -> Option<Step> {
        let Thread { runs, computed: all, .. } = &self.of.threads[self.thread];
        while let Some((_, ns)) = all.get(self.computed).filter(|(before, _)| *before <= self.step) {
            *computed = computed.saturating_add(Time::from_ns(1).saturating_mul(*ns));
            self.computed += 1;
        }
        let steps = &self.of.steps.steps;
        let next = *steps.get(self.step)?;
        self.step += 1;
        if self.step == runs[self.run].end {
            self.run += 1;
            self.step = runs.get(self.run).map_or(steps.len(), |run| run.start);
        }
        Some(next)
    }
}
