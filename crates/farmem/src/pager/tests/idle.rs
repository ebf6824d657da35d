//! On an idle wire a fault takes what the cost model says, to the picosecond.

use super::support::{HEADERS, accesses, pattern, run, settings, steps, way};
use crate::cost::Cost;
use crate::local::Setting;
use crate::pager::{Costs, Outcome, Settings, WriteBack};
use crate::predict::Waits;
use crate::replay::replay;
use sim::Pause;
use units::{Bytes, Time};

/// Bytes of the messages: their length, kind and fields; of a page that is sent back, its number and length
/// too.
const FETCH: u64 = 1 + 1 + 8 + 4 + 4;
const PAGES: u64 = 1 + 1 + 4 + 4;
const KEPT: u64 = 1 + 1 + 4;
const NUMBER: u64 = 12;
/// What a packet carries of 9000 bytes.
const SEGMENT: u64 = 9000 - 20 - 20;

/// Bytes on the wire of a page, each with the headers of the packets beyond a request's first.
fn fetched(pages: u64, page: u64) -> u64 {
    pages * page + ((PAGES + pages * page).div_ceil(SEGMENT) - 1) * HEADERS
}

#[test]
fn each_fault_takes_latency_and_size_by_bandwidth() {
    for (writes, page) in [(0.0, 4096), (0.5, 4096), (0.0, 8192), (0.0, 65_536)] {
        let made = accesses(pattern(500, writes), 7);
        let all_local = made.all_local();
        let settings = Settings { page: Bytes::new(page), ..settings(16) };
        let counts = replay(&steps(made.clone()), &settings.local);
        let done = run(settings, vec![made], Vec::new());
        let (totals, faults) = (done.totals[0], &done.faults[0]);
        assert_eq!((done.pause, totals.outcome), (Pause::Finished, Outcome::Finished));
        assert_eq!(totals.counts, counts);
        let fetch = way(FETCH, PAGES, 1);
        // A page that is sent back goes with its number and length.
        let keep = way(PAGES + NUMBER, KEPT, 1);
        let cost = Cost { fetch, write_back: Some(keep) };
        for fault in faults {
            let one = |way: crate::cost::Way, n: u32, bytes| way.delay(n.into(), Bytes::new(bytes));
            let expected = one(cost.fetch, fault.fetched, fetched(1, page)).saturating_add(one(
                keep,
                fault.written_back,
                page,
            ));
            assert_eq!(fault.end.saturating_sub(fault.start), expected, "{fault:?}");
        }
        if page == 4096 {
            let waits = Waits::of(&counts, Bytes::new(page), &cost, Time::ZERO);
            assert_eq!(totals.stall, waits.total());
        }
        let took = totals.end.unwrap().saturating_sub(totals.begin.unwrap());
        assert_eq!(took, all_local.saturating_add(totals.stall), "it computes or waits");
    }
}

#[test]
fn pages_of_a_request_share_its_latency() {
    for pages_a_request in [1, 2, 8] {
        let local = Setting { read_ahead: 7, pages_a_request, ..settings(32).local };
        let made = accesses(pattern(500, 0.0), 3);
        let counts = replay(&steps(made.clone()), &local);
        let done = run(Settings { local, ..settings(32) }, vec![made], Vec::new());
        assert_eq!(done.totals[0].counts, counts);
        assert!(counts.fetched > counts.faults);
        let fetch = way(FETCH, PAGES, pages_a_request);
        for fault in &done.faults[0] {
            let (whole, rest) = (fault.fetched / pages_a_request, fault.fetched % pages_a_request);
            let of = |pages: u32| {
                fetch.latency.saturating_add(fetch.rate.time_for(Bytes::new(fetched(pages.into(), 4096))))
            };
            let mut expected = of(pages_a_request).saturating_mul(whole.into());
            if rest > 0 {
                expected = expected.saturating_add(of(rest));
            }
            assert_eq!(fault.end.saturating_sub(fault.start), expected, "{fault:?}");
        }
    }
}

#[test]
fn a_compressed_page_takes_its_smaller_size_and_the_work_on_it() {
    let costs = Costs {
        handler: Time::from_us(3),
        compress: Time::from_us(2),
        decompress: Time::from_us(1),
        serve: Time::from_ns(500),
    };
    let settings = Settings { page: Bytes::new(1024), costs, ..settings(16) };
    let done = run(settings, vec![accesses(pattern(500, 0.5), 7)], Vec::new());
    let (fetch, keep) = (way(FETCH, PAGES, 1), way(PAGES + NUMBER, KEPT, 1));
    for fault in &done.faults[0] {
        let (n, back) = (u64::from(fault.fetched), u64::from(fault.written_back));
        let wire = fetch.delay(n, settings.page).saturating_add(keep.delay(back, settings.page));
        let work = Time::from_us(3 + n + 2 * back).saturating_add(Time::from_ns(500 * (n + back)));
        assert_eq!(fault.end.saturating_sub(fault.start), wire.saturating_add(work), "{fault:?}");
    }
}

#[test]
fn nobody_waits_for_what_is_sent_back_after() {
    let after = Settings { write_back: WriteBack::After, write_buffer: 64, ..settings(16) };
    let [before, after] =
        [settings(16), after].map(|each| run(each, vec![accesses(pattern(500, 0.5), 7)], Vec::new()));
    assert_eq!(before.totals[0].counts, after.totals[0].counts);
    let fetch = way(FETCH, PAGES, 1).delay(1, Bytes::new(4096));
    // A page that leaves shares no wire with one that comes; only its acknowledgement does.
    let slack = Time::from_ns(400);
    for fault in &after.faults[0] {
        let took = fault.end.saturating_sub(fault.start);
        assert!(took >= fetch && took <= fetch.saturating_add(slack), "{took} for {fetch}");
    }
    assert!(after.totals[0].stall < before.totals[0].stall);
}
