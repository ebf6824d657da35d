//! How much longer a traced program with several threads takes, when nothing else uses its remote memory.
//!
//! Threads wait at the same time, so their waits do not add up. Here each thread has a clock: it computes as
//! in the trace, and waits for its own faults. Pages share the link ([`Link`]), and one thread handles all
//! faults. A thread that touches a page on its way for another thread waits for that page. With one thread
//! the result is [`crate::predict::Waits::total`].
//!
//! Not here: waits of threads for each other, such as locks. A trace does not have them.

use crate::cost::{Cost, Crossing, Link, Way};
use crate::local::{Local, Met, Setting};
use crate::pager::{Recorded, ThreadAccesses};
use crate::steps::Step;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use units::{Bytes, Time};

/// What faults cost.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// The network.
    pub cost: Cost,
    /// Bytes of a page as it travels.
    pub page: Bytes,
    /// What the handler of faults takes for each, first accesses too.
    pub handler: Time,
}

/// How much longer than in the trace the program takes until its last thread ends.
pub fn longer(of: &Arc<Recorded>, setting: &Setting, costs: &Costs) -> Time {
    let way = |way: Way| Way { pages_a_request: setting.pages_a_request, ..way };
    let cost = Cost { fetch: way(costs.cost.fetch), write_back: costs.cost.write_back.map(way) };
    let steps = &of.steps;
    let mut local = Local::new(steps.pages.as_slice(), steps.stored, setting);
    let fits = steps.while_it_fits(u64::from(setting.capacity) << steps.page_bits);
    local.adopt(&steps.steps[..fits]);
    let mut run = Run {
        threads: ThreadAccesses::recorded(of).into_iter().map(Thread::new).collect(),
        ready: BinaryHeap::new(),
        costs: Costs { cost, ..*costs },
        fits,
        local,
        link: Link::default(),
        handled: Time::ZERO,
    };
    run.finish().saturating_sub(Time::from_ns(1).saturating_mul(steps.computed_ns))
}

/// A thread.
struct Thread {
    accesses: ThreadAccesses,
    /// It has begun: the first thread has come as far as it had in the trace.
    begun: bool,
    now: Time,
    /// Steps of the trace before this one are done.
    done: usize,
    /// The step to take now, where what is computed before it, or the page, took time.
    step: Option<Step>,
    /// Pages that come for it, until its own time.
    coming: Range<u32>,
}

impl Thread {
    fn new(accesses: ThreadAccesses) -> Thread {
        Thread { accesses, begun: false, now: Time::ZERO, done: 0, step: None, coming: 0..0 }
    }
}

struct Run<'a> {
    threads: Vec<Thread>,
    /// Threads that have begun and not ended, the one whose clock shows least first.
    ready: BinaryHeap<Reverse<(Time, usize)>>,
    costs: Costs,
    /// Nothing is remote before this step.
    fits: usize,
    local: Local<&'a [u64]>,
    link: Link,
    /// Until when faults are handled.
    handled: Time,
}

impl Run<'_> {
    /// When the last thread ends.
    fn finish(&mut self) -> Time {
        let mut end = Time::ZERO;
        self.begin(0, Time::ZERO);
        while let Some(Reverse((now, of))) = self.ready.pop() {
            let goes_on = self.turn(of);
            end = end.max(self.threads[of].now);
            if goes_on {
                self.ready.push(Reverse((self.threads[of].now, of)));
            }
            if of == 0 {
                let done = if goes_on { self.threads[0].done } else { usize::MAX };
                self.begin(done, now);
            }
        }
        end
    }

    /// Threads begin for which the first one has come far enough.
    fn begin(&mut self, done: usize, now: Time) {
        for (of, thread) in self.threads.iter_mut().enumerate() {
            if !thread.begun && thread.accesses.begins() <= done {
                (thread.begun, thread.now) = (true, now);
                self.ready.push(Reverse((now, of)));
            }
        }
    }

    /// The thread goes on until time passes for it. Whether it has more to do then.
    fn turn(&mut self, of: usize) -> bool {
        self.threads[of].coming = 0..0;
        loop {
            let thread = &mut self.threads[of];
            let mut computed = Time::ZERO;
            let step = thread.step.take().or_else(|| {
                thread.done = thread.accesses.at();
                thread.accesses.next(&mut computed)
            });
            let Some(step) = step else {
                thread.now = thread.now.saturating_add(computed);
                return false;
            };
            let fitted = thread.done < self.fits;
            if computed > Time::ZERO {
                thread.now = thread.now.saturating_add(computed);
                thread.step = (!fitted).then_some(step);
                return true;
            }
            if fitted {
                continue;
            }
            let now = thread.now;
            if let Some(until) = self.comes(step, now) {
                let thread = &mut self.threads[of];
                (thread.now, thread.step) = (until, Some(step));
                return true;
            }
            if self.fault(of, step) {
                return true;
            }
        }
    }

    /// When the step's page is there, if it is still on its way for another thread.
    fn comes(&self, step: Step, now: Time) -> Option<Time> {
        let (Step::Read(page) | Step::Write(page) | Step::Free(page)) = step else { return None };
        let brings = |thread: &&Thread| thread.now > now && thread.coming.contains(&page);
        self.threads.iter().find(brings).map(|thread| thread.now)
    }

    /// The thread takes the step. Whether that takes time.
    fn fault(&mut self, of: usize, step: Step) -> bool {
        let mut back = Vec::new();
        let Some(met) = self.local.step(step, &mut back) else { return false };
        let (Step::Read(page) | Step::Write(page)) = step else { return false };
        let fetched = match met {
            Met::Hit => return false,
            Met::Cold => 0,
            Met::Fault { ahead } => ahead + 1,
        };
        let Costs { cost, page: bytes, handler } = self.costs;
        let thread = &mut self.threads[of];
        let asks = self.handled.max(thread.now).saturating_add(handler);
        self.handled = asks;
        let crossing = |pages: u64| Crossing { pages, bytes: pages * bytes.get() };
        let wait = self.link.exchange(&cost, asks, crossing(u64::from(fetched)), crossing(back.len() as u64));
        let there = asks.saturating_add(wait);
        let takes = there > thread.now;
        (thread.now, thread.coming) = (there, page..page + fetched);
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Policy;
    use crate::predict::Waits;
    use crate::replay::handled;
    use crate::trace::{Header, Pages, Record, Trace};
    use proptest::prelude::*;
    use units::Rate;

    fn recorded(records: &[Record]) -> Arc<Recorded> {
        let header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity: 4 };
        let mut bytes = header.encode().to_vec();
        records.iter().for_each(|record| bytes.extend(record.encode()));
        Arc::new(Recorded::new(&Trace::read(&bytes).unwrap(), 12).unwrap())
    }

    fn pages(page: u64, pages: u32, thread: u8, computed_ns: u32) -> Pages {
        Pages { page, pages, thread, computed_ns }
    }

    fn costs(us: u64, rate: Rate, handler: Time) -> Costs {
        Costs { cost: Cost::new(Time::from_us(us), rate), page: Bytes::new(4096), handler }
    }

    /// A thread touches 400 pages; then so many threads take turns to read them twice, with room for a few.
    fn shared(threads: u8) -> Arc<Recorded> {
        let first = Record::Write(pages(0, 400, 0, 0));
        let turns = (0..800).map(|at| Record::Read(pages(at % 400, 1, (at % u64::from(threads)) as u8, 0)));
        recorded(&[first].into_iter().chain(turns).collect::<Vec<_>>())
    }

    #[test]
    fn threads_wait_at_the_same_time() {
        let setting = Setting::new(16, Policy::Fifo);
        let costs = Costs {
            cost: costs(100, Rate::from_gbps(100), Time::ZERO).cost.without_write_back(),
            ..costs(0, Rate::from_gbps(1), Time::ZERO)
        };
        let one = longer(&shared(1), &setting, &costs);
        assert_eq!(one, costs.cost.fault(1, 0, costs.page).saturating_mul(800));
        for threads in [2, 4, 8] {
            let together = longer(&shared(threads), &setting, &costs).saturating_mul(threads.into());
            assert!(
                together.as_ps().abs_diff(one.as_ps()) * 50 < one.as_ps(),
                "{threads}: {together} for {one}"
            );
        }
    }

    #[test]
    fn pages_share_the_link_and_faults_their_handler() {
        let setting = Setting::new(16, Policy::Fifo);
        // 32.8 µs a page, and then 50 µs a fault.
        for (rate, handler) in [(Rate::from_gbps(1), Time::ZERO), (Rate::from_gbps(100), Time::from_us(50))] {
            let mut costs = costs(10, rate, handler);
            costs.cost = costs.cost.without_write_back();
            let busy = rate.time_for(costs.page).max(handler).saturating_mul(800);
            let first = handler.saturating_mul(400);
            let took = longer(&shared(8), &setting, &costs).saturating_sub(first);
            assert!(took >= busy && took.as_ps() * 50 < busy.as_ps() * 51, "{took} for {busy}");
        }
    }

    #[test]
    fn a_page_on_its_way_is_waited_for() {
        let cost = costs(100, Rate::from_gbps(40), Time::ZERO);
        let cost = Costs { cost: cost.cost.without_write_back(), ..cost };
        // Whichever of them asks first.
        for (first, second) in [(1, 2), (2, 1)] {
            let records = [
                Record::Write(pages(0, 16, 1, 10)),
                Record::Read(pages(15, 1, 2, 0)),
                Record::Read(pages(0, 1, first, 10)),
                Record::Read(pages(0, 1, second, 5)),
            ];
            let found = longer(&recorded(&records), &Setting::new(8, Policy::Fifo), &cost);
            assert!(found <= cost.cost.fault(1, 0, cost.page), "{found}");
            assert!(found.saturating_add(Time::from_ns(20)) >= cost.cost.fault(1, 0, cost.page), "{found}");
        }
    }

    #[test]
    fn nothing_is_waited_for_while_all_fits() {
        let mut records = vec![Record::Asked(16 << 12), Record::Write(pages(0, 16, 0, 10))];
        records.push(Record::Read(pages(0, 16, 1, 10)));
        let all = longer(
            &recorded(&records),
            &Setting::new(16, Policy::Fifo),
            &costs(9, Rate::from_gbps(1), Time::from_us(9)),
        );
        assert_eq!(all, Time::ZERO);
    }

    proptest! {
        #[test]
        fn the_waits_of_one_thread_add_up(
            accesses in prop::collection::vec((0..40u64, any::<bool>(), 0..3000u32), 1..200),
            capacity in 4..40u32,
            read_ahead in 0..4,
            handler in 0..9u64,
            asked in 0..60u64,
        ) {
            let accesses = accesses.into_iter().map(|(page, write, ns)| {
                let of = pages(page, 1, 0, ns);
                if write { Record::Write(of) } else { Record::Read(of) }
            });
            let mut records: Vec<Record> = accesses.collect();
            records.insert(records.len() / 2, Record::Asked(asked << 12));
            let setting = Setting { read_ahead: read_ahead as u32, pages_a_request: 2, ..Setting::new(capacity, Policy::Fifo) };
            let of = recorded(&records);
            let costs = costs(7, Rate::from_gbps(10), Time::from_us(handler));
            let done = handled(&of.steps, &setting);
            let mut counts = done.counts;
            counts.cold -= done.unseen;
            let waits = Waits::of(&counts, costs.page, &costs.cost, costs.handler);
            prop_assert_eq!(longer(&of, &setting, &costs), waits.total());
        }
    }
}
