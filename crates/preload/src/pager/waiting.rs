//! Faults of several threads that wait at the same time.
//!
//! A fault of the only thread waits while the handler does, as nobody else could want something meanwhile.
//! With more threads a fault is put here, and the handler serves others until its pages are due; who faults
//! on one of these pages waits for the same fetch. Pages on their way neither leave nor are given back: a
//! program that gives a part of one back waits until it has come ([`crate::handler::forget`]). At most a
//! quarter of local memory is on its way.
//!
//! A memory server is asked at once, or, where a wait is added, when that is over; its answers come in the
//! order of the requests.

use super::Pager;
use crate::config::config;
use crate::exchange::{Answer, Exchange, Until};
use crate::states::{self, THERE};
use crate::stats::Stats;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::*};
use sys::cpu::monotonic_ns;
use sys::userfaultfd::Range;

/// The part of local memory that may be on its way.
const PARTS: usize = 4;

/// Counts arrivals of pages. A thread that gives memory back waits for it to change.
static COMINGS: AtomicU32 = AtomicU32::new(0);
/// How many wait for that.
static GIVERS: AtomicU32 = AtomicU32::new(0);

/// Waits until pages have come, if none have since `seen`.
pub(crate) fn until_some_come(seen: u32) {
    GIVERS.fetch_add(1, SeqCst);
    crate::raw::wait(&COMINGS, seen);
    GIVERS.fetch_sub(1, SeqCst);
}

/// For [`until_some_come`].
pub(crate) fn comings() -> u32 {
    COMINGS.load(SeqCst)
}

/// A fault that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) thread: u32,
    pub(super) page: u64,
    /// Pages behind it that come along.
    pub(super) ahead: u64,
    pub(super) write: bool,
    /// Whether remote memory has something of these.
    pub(super) fetches: bool,
    /// When the fault was read.
    pub(super) since: u64,
    /// When the wait begins and ends.
    pub(super) left: u64,
    pub(super) at: u64,
    /// Whether that was still to come when the fault was handled.
    pub(super) waits: bool,
    /// The wait, in ps.
    pub(super) delay_ps: u64,
}

impl Due {
    fn asks_server(&self) -> bool {
        self.fetches && config().server.is_some()
    }

    fn covers(&self, page: u64) -> bool {
        (self.page..=self.page + self.ahead).contains(&page)
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Waiting {
    /// Until a time.
    timed: Vec<Due>,
    /// For a server, in the order in which it was asked.
    asked: VecDeque<Due>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.timed.is_empty() && self.asked.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &Due> {
        self.timed.iter().chain(&self.asked)
    }

    pub(super) fn covers(&self, page: u64) -> bool {
        self.all().any(|due| due.covers(page))
    }

    fn pages(&self) -> u64 {
        self.all().map(|due| 1 + due.ahead).sum()
    }

    /// The one that is due first.
    fn first(&self) -> Option<usize> {
        (0..self.timed.len()).min_by_key(|at| self.timed[*at].at)
    }
}

impl Pager {
    /// The fault waits, and others are served meanwhile.
    pub(super) fn wait_for(&mut self, with: &Exchange, due: Due, stats: &Stats) {
        with.serve_others();
        self.waiting.timed.push(due);
        self.arrive(with, stats);
    }

    /// There is room for a fault more that waits.
    pub(super) fn not_too_many(&mut self, with: &Exchange, stats: &Stats) {
        while !self.waiting.is_empty()
            && self.waiting.pages() >= (u64::from(self.cache.capacity()) / PARTS as u64).max(1)
        {
            self.next(with, stats);
        }
    }

    /// All that waits comes.
    pub(crate) fn finish(&mut self, with: &Exchange, stats: &Stats) {
        while !self.waiting.is_empty() {
            self.next(with, stats);
        }
    }

    /// In a forked child, which has none of the threads that wait: nothing is on its way.
    pub(super) fn wait_for_nothing(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for due in waiting.all() {
            for page in due.page..=due.page + due.ahead {
                self.cache.remove(page);
                if !states::any(self.range(page), THERE) {
                    self.uses(-1);
                }
            }
        }
    }

    /// Whether a page of the range is on its way.
    pub(crate) fn expects(&self, range: Range) -> bool {
        let pages = (range.start >> self.bits) as u64..=((range.start + range.bytes - 1) >> self.bits) as u64;
        self.waiting.all().any(|due| due.page <= *pages.end() && due.page + due.ahead >= *pages.start())
    }

    /// What has come by now is there. Until when nothing more comes; nothing where nobody waits.
    pub(crate) fn arrive(&mut self, with: &Exchange, stats: &Stats) -> Option<Until> {
        while let Some(at) = self.waiting.first()
            && self.waiting.timed[at].at <= monotonic_ns()
        {
            let due = self.waiting.timed.swap_remove(at);
            if due.asks_server() {
                self.ask(&due);
            } else {
                self.come(with, &due, stats);
            }
        }
        while !self.waiting.asked.is_empty() && self.store.has_answer() {
            self.come_from_server(with, stats);
        }
        if self.waiting.is_empty() {
            return None;
        }
        let at = self.waiting.first().map_or(u64::MAX, |first| self.waiting.timed[first].at);
        let asked = self.waiting.asked.front().zip(self.store.socket());
        let answer = asked.map(|(due, socket)| Answer { socket, asked: due.at });
        Some(Until { at, answer })
    }

    /// Waits for the fault that is due first.
    fn next(&mut self, with: &Exchange, stats: &Stats) {
        match self.waiting.first() {
            Some(first) if self.waiting.asked.is_empty() => {
                let due = self.waiting.timed[first];
                with.wait(due.left, monotonic_ns(), due.delay_ps);
                self.arrive(with, stats);
            }
            _ => self.come_from_server(with, stats),
        }
    }

    /// The server is asked for what it has of a fault's pages.
    fn ask(&mut self, due: &Due) {
        if self.cost.is_some() {
            for page in due.page..=due.page + due.ahead {
                states::runs(self.range(page), |state, run| {
                    if state == THERE {
                        self.store.ask(run);
                    }
                });
            }
        }
        self.store.send();
        self.waiting.asked.push_back(*due);
    }

    fn come_from_server(&mut self, with: &Exchange, stats: &Stats) {
        if let Some(due) = self.waiting.asked.pop_front() {
            stats.server_ns.add(monotonic_ns().saturating_sub(due.at));
            self.come(with, &due, stats);
        }
    }

    /// The pages of a fault are there, and who waits for them goes on.
    fn come(&mut self, with: &Exchange, due: &Due, stats: &Stats) {
        let began = monotonic_ns();
        let waited_ps = if due.waits && !due.asks_server() { (began - due.left) * 1000 } else { 0 };
        stats.injected_ps.add(waited_ps.max(due.delay_ps));
        self.place(with, due.page, due.write, due.ahead);
        let now = monotonic_ns();
        self.handled(due.thread, now, due.since + due.delay_ps / 1000, stats);
        self.resume(now, stats);
        (0..=due.ahead).for_each(|next| with.wake(self.range(due.page + next)));
        COMINGS.fetch_add(1, SeqCst);
        if GIVERS.load(SeqCst) > 0 {
            crate::raw::wake(&COMINGS, i32::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(page: u64, ahead: u64, at: u64) -> Due {
        Due {
            thread: 1,
            page,
            ahead,
            write: false,
            fetches: true,
            since: 0,
            left: 0,
            at,
            waits: true,
            delay_ps: 0,
        }
    }

    #[test]
    fn a_page_is_covered_by_the_fault_that_it_comes_along_with() {
        let timed = vec![due(10, 2, 5), due(20, 0, 3), due(30, 0, 3)];
        let waiting = Waiting { timed, asked: VecDeque::from([due(40, 1, 0)]) };
        let covered = (0..50).filter(|page| waiting.covers(*page)).collect::<Vec<_>>();
        assert_eq!(covered, [10, 11, 12, 20, 30, 40, 41]);
        assert_eq!((waiting.pages(), waiting.first()), (7, Some(1)), "the first of those that are due first");
        assert!(!waiting.is_empty() && Waiting::default().is_empty() && Waiting::default().first().is_none());
    }

    #[test]
    fn who_gives_memory_back_sleeps_until_something_comes() {
        let seen = comings();
        let giver = std::thread::spawn(move || until_some_come(seen));
        while GIVERS.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        COMINGS.fetch_add(1, SeqCst);
        while !giver.is_finished() {
            crate::raw::wake(&COMINGS, i32::MAX);
        }
        giver.join().expect("it goes on");
        until_some_come(seen);
        assert_eq!(GIVERS.load(SeqCst), 0, "what has come since is not waited for");
    }
}
