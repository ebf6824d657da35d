//! A thread of a program: where it is, and what it waits for.

use crate::pager::accesses::ThreadAccesses;
use crate::steps::Step;
use units::Time;

/// What comes next, as soon as what is awaited has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first thread, which starts it, has not come that far.
    Begin,
    /// Steps, up to the next fault.
    Run,
    /// A page that is needed is on its way for another thread.
    Await,
    /// The computation before an access is done.
    Touch,
    /// The fault is handled: pages leave.
    Handled,
    /// The fault waits until what left for it is kept.
    Send,
    /// The fault waits for room for what left, or for its own page, which is on its way back.
    Room,
    /// The next request for pages.
    Fetch,
    /// Pages are under way.
    Fetching,
    /// All pages are there.
    Resume,
    /// It has taken all of its steps.
    Done,
}

/// A fault that is dealt with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    pub page: u32,
    /// Pages to fetch, and how many of them have been asked for.
    pub fetch: u32,
    pub asked: u32,
    pub written_back: u32,
    pub start: Time,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub accesses: ThreadAccesses,
    pub phase: Phase,
    /// A core is at work for the next phase.
    pub computing: bool,
    /// Steps of the trace before this one are done.
    pub done: usize,
    /// The step that has yet to be taken: what is computed before it, or what it needs, takes a while.
    pub step: Option<Step>,
    /// Since when it waits for a page of another thread.
    pub since: Time,
    pub touched: Option<Touched>,
    /// Ranks of pages that leave for it and are not on their way yet.
    pub back: Vec<u32>,
    /// What is on its way for it is kept when so many requests are.
    pub sent: u64,
}

impl Thread {
    pub(super) fn new(accesses: ThreadAccesses) -> Thread {
        Thread {
            phase: Phase::Begin,
            accesses,
            computing: false,
            done: 0,
            step: None,
            since: Time::ZERO,
            touched: None,
            back: Vec::new(),
            sent: 0,
        }
    }

    /// The step to take now, or the next one, and what is computed before that. Nothing at the end.
    pub(super) fn next(&mut self, computed: &mut Time) -> Option<Step> {
        self.step.take().or_else(|| {
            self.done = self.accesses.at();
            self.accesses.next(computed)
        })
    }

    /// Whether the page is on its way for this thread.
    pub(super) fn expects(&self, page: u32) -> bool {
        self.touched
            .is_some_and(|touched| (touched.page..touched.page + touched.fetch.max(1)).contains(&page))
    }
}
