//! Whatever a program does and however its pages travel: its faults are those of the cache, no byte is lost,
//! and runs repeat.

use super::support::{accesses, lossy, pattern, run, settings, steps};
use crate::cache::Policy;
use crate::local::Setting;
use crate::pager::{Costs, Order, Outcome, Pattern, Schedule, Settings, Shape, WriteBack};
use crate::replay::replay;
use proptest::prelude::*;
use sim::Pause;
use units::testing::cases;
use units::{Bytes, Time};

pub fn any_pattern() -> impl Strategy<Value = Pattern> {
    let order = prop_oneof![Just(Order::Sequential), Just(Order::Random), (0.1..3.0).prop_map(Order::Zipf)];
    let made =
        (order, 1..100u32, 1..400u64, 0.0..=1.0, 0..3u64).prop_map(|(order, pages, times, writes, us)| {
            let shape = Shape::Ordered(order);
            Pattern { shape, pages, times, writes, compute: Time::from_us(us) }
        });
    let convolution = (1..24u32, 0..3u32, 1..3u64).prop_map(|(rows, half, times)| {
        Pattern::convolution(
            rows,
            8 * u64::from(rows),
            (2 * half + 1).min(rows | 1),
            64,
            times,
            Time::from_us(1),
        )
    });
    prop_oneof![4 => made, 1 => convolution]
}

pub fn any_settings() -> impl Strategy<Value = Settings> {
    let local = (1..80u32, 0..3usize, 0..9u32, 1..6u32).prop_map(
        |(capacity, policy, read_ahead, pages_a_request)| Setting {
            read_ahead,
            pages_a_request,
            ..Setting::new(capacity, Policy::ALL[policy])
        },
    );
    let back = (prop_oneof![Just(WriteBack::Before), Just(WriteBack::After)], 1..20u32);
    let schedule =
        prop_oneof![Just(Schedule::Fifo), Just(Schedule::ReadsFirst), Just(Schedule::ShortestFirst)];
    let costs = prop_oneof![
        Just(Costs::default()),
        (0..5u64, 0..5u64, 0..5u64, 0..5u64).prop_map(|(handler, compress, decompress, serve)| Costs {
            handler: Time::from_us(handler),
            compress: Time::from_us(compress),
            decompress: Time::from_us(decompress),
            serve: Time::from_us(serve),
        })
    ];
    (local, back, schedule, costs, 1..9000u64).prop_map(|(local, back, schedule, costs, page)| {
        let (write_back, write_buffer) = back;
        Settings { local, page: Bytes::new(page), write_back, write_buffer, schedule, costs }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn faults_are_those_of_the_cache_and_no_byte_is_lost(
        settings in any_settings(),
        patterns in prop::collection::vec(any_pattern(), 1..4),
        lost in prop::bool::weighted(0.3),
    ) {
        let all: Vec<_> = patterns.iter().zip(0..).map(|(pattern, seed)| accesses(*pattern, seed)).collect();
        let loss = if lost { lossy(all.len() as u32) } else { Vec::new() };
        let done = run(settings, all.clone(), loss);
        prop_assert_eq!(done.pause, Pause::Finished);
        for ((accesses, totals), faults) in all.into_iter().zip(&done.totals).zip(&done.faults) {
            prop_assert_eq!(totals.outcome, Outcome::Finished);
            let all_local = accesses.all_local();
            let counts = replay(&steps(accesses), &settings.local);
            prop_assert_eq!(totals.counts, counts);
            let (fetched, back) = faults.iter().fold((0, 0), |(fetched, back), fault| {
                (fetched + u64::from(fault.fetched), back + u64::from(fault.written_back))
            });
            prop_assert_eq!((fetched, back), (counts.fetched, counts.written_back));
            let page = settings.page.get();
            prop_assert_eq!(totals.received_bytes, counts.fetched * page + 10 * counts.requests + 6 * counts.sends);
            let sent = counts.written_back * (12 + page) + 18 * counts.requests + 10 * counts.sends;
            prop_assert_eq!(totals.sent_bytes, sent);
            let took = totals.end.unwrap().saturating_sub(totals.begin.unwrap());
            // Compression of what leaves may take a core beside the program's; there are two.
            prop_assert_eq!(took, all_local.saturating_add(totals.stall));
        }
        let carried: u64 = done.records.flows.iter().map(|flow| flow.bytes).sum();
        let said: u64 = done.totals.iter().map(|totals| totals.received_bytes + totals.sent_bytes).sum();
        prop_assert_eq!(carried, said);
    }
}

#[test]
fn runs_repeat() {
    let run = || {
        let settings = Settings { write_back: WriteBack::After, write_buffer: 8, ..settings(16) };
        run(settings, (0..3).map(|seed| accesses(pattern(300, 0.5), seed)).collect(), Vec::new())
    };
    let (a, b) = (run(), run());
    assert_eq!((a.fingerprint, &a.totals, &a.faults), (b.fingerprint, &b.totals, &b.faults));
}

#[test]
fn few_pages_go_before_many_at_a_memory_node() {
    // Two programs that read ahead, and one that needs a page at a time in no order.
    let all = || {
        let sweep = Pattern {
            shape: Shape::Ordered(Order::Sequential),
            pages: 256,
            times: 2000,
            writes: 0.0,
            compute: Time::ZERO,
        };
        let any = Pattern {
            shape: Shape::Ordered(Order::Random),
            pages: 256,
            times: 300,
            writes: 0.0,
            compute: Time::from_us(1),
        };
        vec![accesses(sweep, 1), accesses(sweep, 2), accesses(any, 3)]
    };
    let local = Setting { read_ahead: 15, pages_a_request: 16, ..settings(64).local };
    let costs = Costs { serve: Time::from_us(10), ..Costs::default() };
    let of = |schedule| {
        let done = run(Settings { local, costs, schedule, ..settings(64) }, all(), Vec::new());
        let short = done.faults[2].iter().filter(|fault| fault.fetched < 16);
        let (sum, count) = short.fold((0, 0), |(sum, count), fault| {
            (sum + fault.end.saturating_sub(fault.start).as_ps(), count + 1)
        });
        sum / count
    };
    let (fifo, shortest) = (of(Schedule::Fifo), of(Schedule::ShortestFirst));
    assert!(shortest < fifo, "{shortest} for {fifo}");
}
