//! What is local, and how pages come and go; under one lock, [`PAGER`].
//!
//! [`farmem::watched`] decides who leaves, and whose accesses are to be seen;  [`farmem::cost`] what an
//! exchange takes. A first touch brings a page of zeros and fetches nothing. A page that was read when it
//! came is under write protection, which the kernel lifts at the first write (`UFFD_FEATURE_WP_ASYNC`): so
//! what nobody wrote to leaves without being counted as sent back.
//!
//! Waits of several threads overlap ([`waiting`]); what they send and fetch shares the link
//! ([`farmem::cost::Link`]).

mod leaving;
mod pacing;
#[cfg(test)]
mod tests;
pub(crate) mod waiting;

use crate::config::{Config, config};
use crate::exchange::Exchange;
use crate::layout::BASE;
use crate::lock::Lock;
use crate::signals;
use crate::states::{self, HERE, HIDDEN, NEW, PINNED, THERE};
use crate::stats::{self, Stats};
use crate::store::{self, Store};
use crate::threads;
use crate::tracing::Tracing;
use crate::trip;
use farmem::cache::Evicted;
use farmem::cost::{Cost, Crossing, Link};
use farmem::pace::Pace;
use farmem::watched::Watched;
use sys::cpu::monotonic_ns;
use sys::userfaultfd::{Fault, Range};
use units::Time;
use waiting::{Due, Waiting};

/// Local memory.
pub(crate) struct Pager {
    cache: Watched,
    /// Logarithm of the page size.
    bits: u32,
    cost: Option<Cost>,
    read_ahead: usize,
    /// Remote memory.
    pub(crate) store: Box<dyn Store>,
    /// Pages that could not leave, until one has.
    stuck: Vec<Evicted>,
    /// When the clock showed 0 for the link.
    began: u64,
    link: Link,
    waiting: Waiting,
    /// Pages that the program has touched and not given back.
    in_use: u64,
    trips: trip::Samples,
    tracing: Option<Tracing>,
    pace: Option<Pace>,
    /// When the pace was looked at last, and what the program had computed.
    looked: (u64, u64),
    /// Pages that are to leave for the pace.
    gone: Vec<u64>,
}

/// The pager, once memory is remote.
pub(crate) static PAGER: Lock<Option<Pager>> = Lock::new(None);

/// The pager, for a thread of the program.
pub(crate) fn quietly<T>(act: impl FnOnce(Option<&mut Pager>) -> T) -> T {
    let waiting = signals::quiet();
    let done = act(PAGER.lock().as_mut());
    drop(waiting);
    done
}

/// What a fault exchanges.
#[derive(Clone, Copy, Default)]
struct Pages {
    fetched: Crossing,
    sent: Crossing,
    dropped: u64,
}

impl Pager {
    pub(crate) fn new(config: &Config) -> Pager {
        let pages = config.local / config.page;
        let (pace, cache) = pacing::begin(config, pages as u32);
        let path = if config.trace { stats::beside("trace") } else { None };
        Pager {
            cache,
            bits: config.page.ilog2(),
            cost: config.cost,
            read_ahead: config.read_ahead,
            store: store::open(config),
            stuck: Vec::with_capacity(pages / 2),
            began: monotonic_ns(),
            link: Link::default(),
            waiting: Waiting::default(),
            in_use: 0,
            trips: trip::Samples::default(),
            tracing: path.and_then(|path| Tracing::begin(config, &path, monotonic_ns())),
            pace,
            looked: (monotonic_ns(), pacing::computed_ns()),
            gone: Vec::new(),
        }
    }

    fn range(&self, page: u64) -> Range {
        whole(page, self.bits)
    }

    /// What was touched before memory became remote is local.
    pub(crate) fn adopt(&mut self, address: usize) {
        if states::at(address) == PINNED {
            return;
        }
        states::set(Range { start: address, bytes: BASE }, HERE);
        let page = (address >> self.bits) as u64;
        if !self.cache.contains(page) {
            self.cache.fault(page, true);
            if let Some(pace) = &mut self.pace {
                pace.fault(page, &mut self.gone);
            }
            self.uses(1);
            stats::stats().adopted.add(1);
            if let Some(tracing) = &mut self.tracing {
                // Nobody knows which thread that was. The first one has the number of the process.
                tracing.access(page, true, std::process::id(), 0);
            }
        }
    }

    /// The program has so many pages more in use.
    fn uses(&mut self, more: i64) {
        self.in_use = self.in_use.saturating_add_signed(more);
        let (stats, bytes) = (stats::stats(), self.in_use << self.bits);
        stats.in_use_bytes.set(bytes);
        stats.touched_bytes.raise_to(bytes);
    }

    /// The program has asked for so many bytes by now.
    pub(crate) fn asked(&mut self, bytes: usize) {
        if let Some(tracing) = &mut self.tracing {
            tracing.asked(bytes as u64);
        }
        if let Some(pace) = &mut self.pace {
            pace.asked(bytes.div_ceil(1 << self.bits) as u64, &mut self.gone);
        }
    }

    /// In a forked child: the trace is the parent's.
    pub(crate) fn forked(&mut self) {
        self.tracing = None;
        self.pace = None;
        self.wait_for_nothing();
        self.store.forked();
    }

    /// A thread waits for a page; the clock showed `since` when that was known.
    pub(crate) fn fault(&mut self, with: &Exchange, fault: &Fault, since: u64, stats: &Stats) {
        let page = (fault.address >> self.bits) as u64;
        self.trips.begins(fault.thread, since);
        if self.waiting.covers(page) {
            // It comes already.
            stats.again.add(1);
            return;
        }
        let range = self.range(page);
        if states::at(fault.address) == PINNED {
            with.place_zeros(range);
            with.wake(range);
            return;
        }
        if states::at(fault.address) != HERE && self.cache.access(page, fault.write) {
            self.hide(with);
            with.place(range, fault.write, &mut *self.store);
            stats.soft_faults.add(1);
            self.handled(fault.thread, monotonic_ns(), since, stats);
            with.wake(range);
            return;
        }
        if states::at(fault.address) == HERE || self.cache.contains(page) {
            // It was about to leave, it came meanwhile, or the program gave back a part of it.
            let count = if states::at(fault.address) == HIDDEN { &stats.soft_faults } else { &stats.again };
            with.bring(range, fault.write, &mut *self.store);
            count.add(1);
            return;
        }
        // The faulting thread sees the pages only after its wait. Other threads would see them early, so with
        // several threads the pages are placed when the wait ends.
        let alone = threads::is_one() && self.waiting.is_empty();
        if !alone {
            self.not_too_many(with, stats);
        }
        let (mut pages, packed_ns) = (Pages::default(), stats.packing_ns());
        self.keep_pace(with, page, since);
        self.enter(with, page, fault.write, &mut pages);
        // Behind what was seen of the page that left: whoever replays the trace has no place before it
        // leaves.
        if let Some(tracing) = &mut self.tracing {
            tracing.access(page, fault.write, fault.thread, since);
        }
        let ahead = if pages.fetched.pages > 0 { self.ahead(with, page, &mut pages) } else { 0 };
        // A page is compressed before its way and decompressed after it: no wait hides that.
        let packed = || since + stats.packing_ns() - packed_ns;
        let left = packed();
        let delay_ps = self.delay_ps(left, &pages, stats);
        let waits = pages.fetched.pages + pages.sent.pages > 0;
        stats.exchange(pages.fetched, pages.sent);
        stats.pages_dropped.add(pages.dropped);
        if !alone && waits {
            let fetches = pages.fetched.pages > 0;
            let at = left + delay_ps.div_ceil(1000);
            stats.before_the_wait(monotonic_ns().saturating_sub(left));
            let waits = at > monotonic_ns();
            let (thread, write) = (fault.thread, fault.write);
            let due = Due { thread, page, ahead, write, fetches, since, left, at, waits, delay_ps };
            return self.wait_for(with, due, stats);
        }
        // What a server takes is not to hide in the wait.
        let early = config().server.is_none();
        if early {
            self.place(with, page, fault.write, ahead);
        }
        if waits {
            let (left, now) = (packed(), monotonic_ns());
            stats.before_the_wait(now.saturating_sub(left));
            stats.injected_ps.add(with.wait(left, now, delay_ps));
        }
        if !early {
            self.place(with, page, fault.write, ahead);
        }
        // A thread that is woken on this processor runs at once. Read after that, the clock would include
        // what the program computed.
        let now = monotonic_ns();
        self.handled(fault.thread, now, since + delay_ps / 1000, stats);
        self.resume(now, stats);
        (0..=ahead).for_each(|next| with.wake(self.range(page + next)));
    }

    /// A fault is handled, which had the handler's time since then.
    fn handled(&mut self, thread: u32, now: u64, since: u64, stats: &Stats) {
        stats.handled(now.saturating_sub(since), trip::ns());
        self.trips.ends(thread, now);
    }

    /// What a fault waits whose pages are asked for at this time, in ps.
    fn delay_ps(&mut self, left: u64, pages: &Pages, stats: &Stats) -> u64 {
        let Some(cost) = self.cost else { return 0 };
        let now = Time::from_ps((left - self.began) * 1000);
        let delay = self.link.exchange(&cost, now, pages.fetched, pages.sent).as_ps();
        let nominal = cost.exchange(pages.fetched, pages.sent).as_ps();
        stats.nominal_ps.add(nominal);
        stats.queued_ps.add(delay - nominal);
        delay
    }

    /// A thread of the program goes on.
    fn resume(&mut self, now: u64, stats: &Stats) {
        if let Some(tracing) = &mut self.tracing {
            tracing.resume(now);
            stats.traced_bytes.set(tracing.used());
        }
    }

    /// The page comes, and so do those behind it that were fetched along.
    fn place(&mut self, with: &Exchange, page: u64, write: bool, ahead: u64) {
        for next in 0..=ahead {
            with.place(self.range(page + next), write && next == 0, &mut *self.store);
        }
    }

    /// There is a place for the page.
    fn enter(&mut self, with: &Exchange, page: u64, write: bool, pages: &mut Pages) {
        if self.cost.is_none() {
            states::runs(self.range(page), |state, run| {
                if state == THERE {
                    self.store.ask(run);
                }
            });
        }
        let fetched = pages.fetched.pages;
        self.cross(page, &mut pages.fetched);
        if pages.fetched.pages == fetched {
            self.uses(1);
        }
        while self.cache.is_full() {
            match self.make_room(with) {
                Evicted { page, dirty: true } => self.cross(page, &mut pages.sent),
                Evicted { dirty: false, .. } => pages.dropped += 1,
            }
        }
        self.cache.fault(page, write);
        self.hide(with);
    }

    /// A page that is remote travels: whole, but for what compression saves.
    fn cross(&self, page: u64, crossing: &mut Crossing) {
        let range = self.range(page);
        let (mut remote, mut saved) = (false, 0);
        states::runs(range, |state, run| {
            if state == THERE {
                remote = true;
                saved += self.store.saved(run);
            }
        });
        if remote {
            crossing.pages += 1;
            crossing.bytes += range.bytes as u64 - saved;
        }
    }

    /// The pages behind it that are remote come too; how many.
    fn ahead(&mut self, with: &Exchange, page: u64, pages: &mut Pages) -> u64 {
        let most = self.read_ahead.min(self.cache.capacity() as usize / 2) as u64;
        for next in 1..=most {
            let range = self.range(page + next);
            if !states::any(range, THERE) || self.cache.contains(page + next) {
                return next - 1;
            }
            self.enter(with, page + next, false, pages);
        }
        most
    }

    /// The range, whole pages, comes and stays local; nothing of it is on its way.
    pub(crate) fn keep(&mut self, with: &Exchange, range: Range) {
        for start in (range.start..range.start + range.bytes).step_by(1 << self.bits) {
            let page = (start >> self.bits) as u64;
            let range = self.range(page);
            let counts = self.cache.contains(page) || states::any(range, THERE);
            if [NEW, THERE, HIDDEN].iter().any(|state| states::any(range, *state)) {
                with.bring(range, true, &mut *self.store);
            }
            if counts {
                self.governs_no_longer(page);
            }
            states::set(range, PINNED);
        }
    }

    /// The page is local, and remains so.
    fn governs_no_longer(&mut self, page: u64) {
        let range = self.range(page);
        self.cache.remove(page);
        self.uses(-1);
        if let Some(pace) = &mut self.pace {
            pace.free(page);
        }
        if let Some(tracing) = &mut self.tracing {
            tracing.free(range.start, range.bytes, monotonic_ns());
        }
    }

    /// The range, whole pages, is to stay local; the address of a page that has to be fetched first, if there
    /// is one.
    pub(crate) fn pin(&mut self, range: Range) -> Option<usize> {
        let pages = (range.start >> self.bits) as u64..((range.start + range.bytes) >> self.bits) as u64;
        for page in pages {
            let range = self.range(page);
            let mut away = self.expects(range).then_some(range.start);
            states::runs(range, |state, run| {
                if state == THERE || state == HIDDEN {
                    away = Some(run.start);
                }
            });
            if away.is_some() {
                return away;
            }
            if self.cache.contains(page) {
                self.governs_no_longer(page);
            }
            states::set(range, PINNED);
        }
        None
    }

    /// The program gives a range back: what it held is forgotten.
    pub(crate) fn forget(&mut self, range: Range) {
        if let Some(tracing) = &mut self.tracing {
            tracing.free(range.start, range.bytes, monotonic_ns());
        }
        self.store.forget(range);
        self.store.vacate(range);
        if states::any(range, HIDDEN) {
            store::empty_mirror(range);
        }
        let (mut first, end) = (range.start, range.start + range.bytes);
        while first < end {
            let next = ((first >> self.bits) + 1) << self.bits;
            let part = Range { start: first, bytes: next.min(end) - first };
            if [HERE, THERE, HIDDEN].iter().all(|state| !states::any(part, *state)) {
                first = next;
                continue;
            }
            states::set(part, NEW);
            let page = (first >> self.bits) as u64;
            if let Some(pace) = &mut self.pace
                && [HERE, THERE, HIDDEN].iter().all(|state| !states::any(whole(page, self.bits), *state))
            {
                pace.free(page);
            }
            if !states::any(self.range(page), HERE) && !states::any(self.range(page), HIDDEN) {
                self.cache.remove(page);
                if !states::any(self.range(page), THERE) {
                    self.uses(-1);
                }
            }
            first = next;
        }
    }
}

/// All of a page of 2^`bits` bytes.
fn whole(page: u64, bits: u32) -> Range {
    Range { start: (page as usize) << bits, bytes: 1 << bits }
}
