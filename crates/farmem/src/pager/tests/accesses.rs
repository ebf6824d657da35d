//! What programs do, step by step.

use super::support::{accesses, steps};
use crate::cache::Policy;
use crate::pager::{Order, Pattern, Recorded, Shape, ThreadAccesses};
use crate::steps::Step;
use crate::trace::{Header, Pages, Record, Trace};
use std::sync::Arc;
use units::Time;

#[test]
fn a_convolution_reads_three_rows_and_writes_one() {
    // Four rows of two pages.
    let made = Pattern::convolution(4, 128, 3, 64, 1, Time::from_us(1));
    let read = Step::Read;
    let [a, b] = [0, 1].map(|part| [read(part), read(2 + part), Step::Write(8 + part)]);
    let all = steps(accesses(made, 1)).steps;
    assert_eq!(all[..6], [a, b].concat());
    assert_eq!(all[6..10], [read(0), read(2), read(4), Step::Write(10)]);
    assert_eq!(all.len() as u64, made.accesses());
    assert_eq!((made.pages, made.stored()), (16, 8));
    assert_eq!(accesses(made, 1).all_local(), Time::from_us(all.len() as u64));
}

#[test]
fn accesses_are_as_many_as_said_in_any_order() {
    for order in [Order::Sequential, Order::Random, Order::Zipf(1.2)] {
        let shape = Shape::Ordered(order);
        let made = Pattern { shape, pages: 50, times: 5000, writes: 0.25, compute: Time::from_ns(3) };
        let all = steps(accesses(made, 4)).steps;
        assert_eq!(all.len(), 5000);
        let writes = all.iter().filter(|step| matches!(step, Step::Write(_))).count();
        assert!((1150..1350).contains(&writes), "{writes}");
        let mut times = [0u32; 50];
        all.iter().for_each(|step| {
            let (Step::Read(page) | Step::Write(page)) = step else { panic!("an access") };
            times[*page as usize] += 1;
        });
        times.sort_unstable();
        match order {
            Order::Sequential => assert!(times.iter().all(|n| *n == 100)),
            // The most frequent of 50 pages with k^-1.2 has a weight of 1/3.3 of all.
            Order::Zipf(_) => assert!((1400..1600).contains(&times[49]), "{times:?}"),
            Order::Random => assert!(times[0] > 60 && times[49] < 150, "{times:?}"),
        }
    }
}

#[test]
fn a_trace_computes_between_its_steps() {
    let header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity: 4 };
    let pages = |page, computed_ns| Pages { page, pages: 2, thread: 0, computed_ns };
    let mut bytes = header.encode().to_vec();
    for record in [
        Record::Write(pages(7, 100)),
        Record::Pass(1000),
        Record::Read(pages(8, 50)),
        Record::Free(pages(7, 0)),
        Record::Pass(5),
    ] {
        bytes.extend(record.encode());
    }
    let recorded = Recorded::new(&Trace::read(&bytes).unwrap(), 12).unwrap();
    let [mut accesses] = ThreadAccesses::recorded(&Arc::new(recorded)).try_into().expect("one thread");
    assert_eq!(accesses.all_local(), Time::from_ns(1155));
    let (mut all, mut computed) = (Vec::new(), Time::ZERO);
    while let Some(step) = accesses.next(&mut computed) {
        all.push((step, computed.as_ps() / 1000));
    }
    let [a, b, c] = [0, 1, 2];
    let expected = [
        (Step::Write(a), 100),
        (Step::Write(b), 100),
        (Step::Read(b), 1150),
        (Step::Read(c), 1150),
        (Step::Free(a), 1150),
        (Step::Free(b), 1150),
    ];
    assert_eq!(all, expected);
    assert_eq!(computed, Time::from_ns(1155), "what is behind the last step counts too");
}
