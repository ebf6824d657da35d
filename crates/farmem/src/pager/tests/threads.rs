//! Programs with several threads: waits overlap, the link and local memory are shared.

use super::random::{any_pattern, any_settings};
use super::support::{DELAY, HEADERS, RATE, Run, lossy, run_on, settings};
use crate::cache::Policy;
use crate::cost::{Cost, Crossing, Link, Way};
use crate::pager::{Order, Outcome, Pattern, Recorded, Settings, Shape, ThreadAccesses, WriteBack};
use crate::trace::{Header, Pages, Record, Trace};
use fabric::LinkProps;
use process::rng;
use proptest::prelude::*;
use std::sync::Arc;
use units::testing::cases;
use units::{Bytes, Rate, Time};

/// Bytes of a request, and of its answer without the page.
const FETCH: u64 = 18;
const PAGES: u64 = 10;

fn threads(pattern: Pattern, threads: u64) -> Vec<ThreadAccesses> {
    ThreadAccesses::made(pattern, (0..threads).map(|thread| rng::stream(thread, "accesses")).collect())
}

fn took(done: &Run) -> Time {
    let totals = done.totals[0];
    assert_eq!(totals.outcome, Outcome::Finished);
    totals.end.unwrap().saturating_sub(totals.begin.unwrap())
}

/// So many faults, which threads have one after the other each, on a link.
fn on_a_link(faults: u64, threads: u64, cost: &Cost) -> Time {
    // A page comes with the headers of its packet.
    let page = Crossing { pages: 1, bytes: PAGES + 4096 + HEADERS };
    let (mut link, mut clocks) = (Link::default(), vec![Time::ZERO; threads as usize]);
    for _ in 0..faults {
        let first = clocks.iter_mut().min().expect("a thread");
        *first = first.saturating_add(link.exchange(cost, *first, page, Crossing::default()));
    }
    *clocks.iter().max().expect("a thread")
}

/// 12,000 random accesses to memory of which next to nothing is local; a packet has room for one page.
fn random(rate: Rate, delay: Time, of: u64) -> (Time, Time) {
    let (pages, times) = (1 << 16, 12_000);
    let pattern =
        Pattern { shape: Shape::Ordered(Order::Random), pages, times, writes: 0.0, compute: Time::ZERO };
    let link = LinkProps { rate, delay, mtu: 4200 };
    let done = run_on(link, settings(64), vec![threads(pattern, of)], Vec::new());
    let counts = done.totals[0].counts;
    assert!(counts.accesses() == times && counts.faults > 11_900, "{counts:?}");
    let request = rate.time_for(Bytes::new(FETCH + HEADERS));
    let way = Way::new(delay.saturating_mul(2).saturating_add(request), rate);
    let cost = Cost { fetch: way, write_back: None };
    (took(&done), on_a_link(counts.faults, of, &cost))
}

/// Whether two times differ by at most a part in so many.
fn alike(a: Time, b: Time, parts: u64) -> bool {
    a.as_ps().abs_diff(b.as_ps()) * parts <= b.as_ps()
}

#[test]
fn waits_overlap_while_the_link_is_free() {
    // 48 µs there and back again: a fault takes 100 µs.
    let delay = Time::from_us(48);
    let (one, expected) = random(RATE, delay, 1);
    assert!(alike(one, Time::from_us(1_200_000), 100), "{one}");
    assert!(alike(one, expected, 1000), "{one} for {expected}");
    for of in [2, 4, 8] {
        let (together, expected) = random(RATE, delay, of);
        assert!(alike(together.saturating_mul(of), one, 500), "{of} threads: {together}");
        assert!(alike(together, expected, 1000), "{of} threads: {together} for {expected}");
    }
}

#[test]
fn a_slow_link_sends_as_many_pages_however_many_ask() {
    // A page takes 33.5 µs, and a request 20 µs: two threads have the link busy.
    let (rate, delay) = (Rate::from_gbps(1), Time::from_us(10));
    let all = rate.time_for(Bytes::new((PAGES + 4096 + HEADERS) * 12_000));
    for of in [4, 8] {
        let (together, expected) = random(rate, delay, of);
        assert!(alike(together, expected, 1000) && alike(together, all, 500), "{of}: {together} for {all}");
    }
}

fn recorded(records: &[Record]) -> Vec<ThreadAccesses> {
    let header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity: 4 };
    let mut bytes = header.encode().to_vec();
    records.iter().for_each(|record| bytes.extend(record.encode()));
    ThreadAccesses::recorded(&Arc::new(Recorded::new(&Trace::read(&bytes).unwrap(), 12).unwrap()))
}

fn pages(page: u64, pages: u32, thread: u8, us: u32) -> Pages {
    Pages { page, pages, thread, computed_ns: 1000 * us }
}

#[test]
fn a_thread_computes_from_its_access_before_and_begins_where_the_first_one_is_by_then() {
    let all = recorded(&[
        Record::Write(pages(1, 2, 7, 10)),
        Record::Read(pages(1, 1, 8, 20)),
        Record::Read(pages(2, 1, 7, 30)),
        Record::Free(pages(1, 1, 0, 5)),
        Record::Pass(100_000),
        Record::Read(pages(2, 1, 8, 40)),
    ]);
    assert_eq!(all.iter().map(ThreadAccesses::begins).collect::<Vec<_>>(), [0, 2]);
    let times = all.into_iter().map(|mut accesses| {
        let mut computed = Time::ZERO;
        std::iter::from_fn(|| accesses.next(&mut computed).map(|_| computed.as_us())).collect::<Vec<_>>()
    });
    // The first thread's three accesses and what was given back; the second one begins at 10 µs.
    assert_eq!(times.collect::<Vec<_>>(), [vec![10, 10, 60, 65], vec![20, 195]]);
}

#[test]
fn a_page_on_its_way_is_waited_for_and_not_fetched_again() {
    // Sixteen pages with room for eight: then both threads read the first one at the same time.
    let records = [
        Record::Write(pages(0, 16, 1, 10)),
        Record::Read(pages(15, 1, 2, 0)),
        Record::Read(pages(0, 1, 1, 10)),
        Record::Read(pages(0, 1, 2, 0)),
    ];
    let link = LinkProps { rate: RATE, delay: Time::from_us(50), mtu: 9000 };
    let after = Settings { write_back: WriteBack::After, write_buffer: 64, ..settings(8) };
    let done = run_on(link, after, vec![recorded(&records)], Vec::new());
    let counts = done.totals[0].counts;
    assert_eq!((counts.fetched, counts.hits, counts.cold), (1, 2, 16));
    // Both are there at the same time, and go on at the same time.
    let fetched = done.faults[0].iter().find(|fault| fault.fetched > 0).expect("a fault");
    assert_eq!(done.totals[0].stall, fetched.end.saturating_sub(fetched.start).saturating_mul(2));
    assert_eq!(took(&done), fetched.end.saturating_sub(done.totals[0].begin.unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn whatever_threads_do_they_end_and_no_byte_is_lost(
        settings in any_settings(),
        pattern in any_pattern(),
        of in 1..6u64,
        lost in prop::bool::weighted(0.3),
    ) {
        let of = of.min(pattern.parts()).min(pattern.pages.into());
        let (program, link) = (threads(pattern, of), LinkProps { rate: RATE, delay: DELAY, mtu: 9000 });
        let own: Vec<_> = program.iter().map(|thread| thread.all_local().as_ps()).collect();
        let run = || run_on(link, settings, vec![program.clone()], if lost { lossy(1) } else { Vec::new() });
        let (done, again) = (run(), run());
        prop_assert_eq!(done.fingerprint, again.fingerprint);
        let (totals, counts, page) = (done.totals[0], done.totals[0].counts, settings.page.get());
        prop_assert_eq!((totals.outcome, counts.accesses()), (Outcome::Finished, pattern.accesses()));
        let (fetched, back) = done.faults[0].iter().fold((0, 0), |(fetched, back), fault| {
            (fetched + u64::from(fault.fetched), back + u64::from(fault.written_back))
        });
        prop_assert_eq!((fetched, back), (counts.fetched, counts.written_back));
        let received = counts.fetched * page + 10 * counts.requests + 6 * counts.sends;
        prop_assert_eq!(totals.received_bytes, received);
        let sent = counts.written_back * (12 + page) + 18 * counts.requests + 10 * counts.sends;
        prop_assert_eq!(totals.sent_bytes, sent);
        // At best all compute at the same time, at worst one after the other.
        let time = took(&done).as_ps();
        prop_assert!(time >= *own.iter().max().unwrap());
        prop_assert!(time <= own.iter().sum::<u64>() + totals.stall.as_ps());
    }
}
