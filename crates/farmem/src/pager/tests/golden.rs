//! How pages travel in each way, as a text table that a person reviews when it changes.
//!
//! `UPDATE_GOLDEN=1 cargo test -p incast-farmem golden` writes it again.

use super::support::{Run, accesses, lossy, run, settings};
use crate::cache::Policy;
use crate::local::Setting;
use crate::pager::{Costs, Order, Pattern, Schedule, Settings, Shape, WriteBack};
use std::fmt::Write;
use std::path::Path;
use units::{Bytes, Time};

/// One line of results, of all programs together.
fn line(done: &Run) -> String {
    let mut latencies: Vec<u64> =
        done.faults.iter().flatten().map(|f| f.end.saturating_sub(f.start).as_ps()).collect();
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() * part).div_ceil(100) - 1] / 1000;
    let sum = |of: fn(&crate::pager::Totals) -> u64| done.totals.iter().map(of).sum::<u64>();
    let last = done.totals.iter().filter_map(|totals| totals.end).max().unwrap();
    format!(
        "{:>6} {:>7} {:>7} {:>6} {:>8} {:>8} {:>8} {:>8} {:>6}",
        sum(|t| t.counts.faults),
        sum(|t| t.counts.fetched),
        sum(|t| t.counts.written_back),
        sum(|t| t.counts.cold),
        at(50),
        at(99),
        sum(|t| t.stall.as_us()),
        last.as_us(),
        done.records.flows.iter().map(|flow| flow.retransmits).sum::<u64>(),
    )
}

const HEAD: &str = "faults fetched written   cold   p50 ns   p99 ns stall us   all us resent";

#[test]
fn three_programs_at_one_memory_node() {
    let of = |order, compute| {
        let shape = Shape::Ordered(order);
        Pattern { shape, pages: 256, times: 2000, writes: 0.3, compute }
    };
    let us = Time::from_us;
    let patterns = [
        ("random", of(Order::Random, us(2))),
        ("zipf 1.2", of(Order::Zipf(1.2), us(2))),
        ("sequential", of(Order::Sequential, us(2))),
        ("convolution", Pattern::convolution(64, 8192, 3, 4096, 2, us(2))),
    ];
    let plain = settings(64);
    let after = Settings { write_back: WriteBack::After, write_buffer: 16, ..plain };
    let ahead = Setting { read_ahead: 7, pages_a_request: 8, ..plain.local };
    let work = Costs { handler: us(3), compress: us(2), decompress: us(1), serve: us(1) };
    let ways = [
        ("before", plain),
        ("after", after),
        ("reads first", Settings { schedule: Schedule::ReadsFirst, ..after }),
        ("read ahead", Settings { local: ahead, ..plain }),
        (
            "shortest first",
            Settings { local: ahead, schedule: Schedule::ShortestFirst, costs: work, ..after },
        ),
        ("fifo", Settings { local: Setting { policy: Policy::Fifo, ..plain.local }, ..plain }),
        ("clock", Settings { local: Setting { policy: Policy::Clock, ..plain.local }, ..plain }),
        ("compressed", Settings { page: Bytes::new(1365), costs: work, ..plain }),
    ];
    let mut text = String::new();
    for (name, pattern) in patterns {
        writeln!(text, "{name:<16}{HEAD}").unwrap();
        let all = || (0..3).map(|seed| accesses(pattern, seed)).collect::<Vec<_>>();
        for (way, settings) in ways {
            writeln!(text, "{way:<16}{}", line(&run(settings, all(), Vec::new()))).unwrap();
        }
        writeln!(text, "{:<16}{}\n", "after, 1 % lost", line(&run(after, all(), lossy(3)))).unwrap();
    }
    compare(&text);
}

fn compare(text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pager/tests/golden.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == expected,
        "if the new results are right, run with UPDATE_GOLDEN=1\nexpected:\n{expected}\ngot:\n{text}"
    );
}
