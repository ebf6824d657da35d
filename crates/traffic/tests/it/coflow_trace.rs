//! Coflow traces: the format, the example, and what is refused.

use proptest::prelude::*;
use traffic::coflow::{CoflowTrace, parse};
use traffic::{Coflow, Coflows, FLOWS_MAX};
use units::Time;

const SMALL: &str = "4 2\n1 0 1 3 1 0:1.0\n7 1500 2 0 1 2 2:0.5 3:12\n";

#[test]
fn reads_the_format() {
    let one = Coflow { id: 1, at: Time::ZERO, mappers: vec![3], reducers: vec![(0, 1_000_000)] };
    let reducers = vec![(2, 500_000), (3, 12_000_000)];
    let two = Coflow { id: 7, at: Time::from_ms(1_500), mappers: vec![0, 1], reducers };
    let trace = CoflowTrace { racks: 4, coflows: vec![one, two] };
    assert_eq!(parse(SMALL.as_bytes()).expect("good"), trace);
    assert_eq!(parse(SMALL.replace('\n', "\r\n").as_bytes()).expect("good"), trace);
}

#[test]
fn reads_the_example_trace() {
    let text = include_bytes!("../../../../examples/coflows.txt");
    let trace = parse(text).expect("the example is good");
    assert_eq!((trace.racks, trace.coflows.len()), (16, 20));
    assert!(trace.coflows.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let used =
        trace.coflows.iter().flat_map(|c| c.mappers.iter().chain(c.reducers.iter().map(|(rack, _)| rack)));
    assert_eq!(used.min(), Some(&0), "racks count from 0");
}

#[test]
fn errors_name_line_field_and_what_is_allowed() {
    let refusal = |text: &str| parse(text.as_bytes()).expect_err("bad").to_string();
    let number = "a whole number from";
    assert_eq!(refusal(""), format!("line 1, racks: missing; expected {number} 1 to 4294967295"));
    assert_eq!(refusal("4 2 9"), "line 1, end of line: \"9\" is more than the count before it announces");
    let cases = [
        ("1 0 1 4 1 0:1", "line 2, mapper 1: \"4\" is not allowed; expected a whole number from 0 to 3"),
        ("1 0 2 3", "line 2, mapper 2: missing; expected a whole number from 0 to 3"),
        (
            "1 0 0",
            "line 2, number of mappers: \"0\" is not allowed; expected a whole number from 1 to 4294967295",
        ),
        (
            "1 0 1 3 1 0",
            "line 2, reducer 1: \"0\" is not allowed; expected rack:MB, a rack from 0 to 3 and a size in whole bytes, like 0:1.5",
        ),
        (
            "1 0 1 3 1 0:-1",
            "line 2, reducer 1: \"0:-1\" is not allowed; expected rack:MB, a rack from 0 to 3 and a size in whole bytes, like 0:1.5",
        ),
        ("1 0 1 3 1 0:1 1:1", "line 2, end of line: \"1:1\" is more than the count before it announces"),
        (
            "1 -5 1 3 1 0:1",
            "line 2, arrival in ms: \"-5\" is not allowed; expected a whole number from 0 to 10000000000",
        ),
        ("1 0 1 3 1 0:1\n\n", "line 4, coflow: missing; expected 2 coflows as line 1 announces, found 1"),
        ("1 0 1 3 1 0:1\n1 0 1 3 1 0:1", "line 3, id: coflow 1 was there before; ids must differ"),
        (
            "1 0 1 3 1 0:1\n2 0 1 3 1 0:1\n\n3 0",
            "line 5, coflow: \"3\" is more than the count before it announces",
        ),
    ];
    for (lines, message) in cases {
        assert_eq!(refusal(&format!("4 2\n{lines}")), message);
    }
    assert_eq!(parse(b"4 1\n1 0 \xff").expect_err("bad").to_string(), "line 2, text: not UTF-8 text");
}

#[test]
fn claimed_counts_cost_no_memory() {
    let text = format!("4294967295 18446744073709551615\n1 0 4294967295 {}", "0 ".repeat(1_000));
    assert!(parse(text.as_bytes()).is_err());
    let long = format!("4 1\n1 0 1 {}", "é".repeat(100_000));
    assert!(parse(long.as_bytes()).expect_err("bad").to_string().len() < 300);
}

#[test]
fn a_trace_of_too_many_flows_is_refused_before_it_is_expanded() {
    use process::HostId;
    let hosts = crate::support::hosts(1);
    let many = 10_000;
    let coflow = Coflow {
        id: 1,
        at: Time::ZERO,
        mappers: vec![HostId(0); many],
        reducers: vec![(HostId(0), 1 << 40); many],
    };
    assert!((many * many) as u64 > FLOWS_MAX);
    let job = traffic::Job::Coflows(Coflows { coflows: vec![coflow] });
    let error = traffic::build(&job, &hosts, &mut crate::support::rng(1), 1).err().expect("refused");
    assert_eq!(error.message, "the job has about 100000000 flows: at most 50000000 are allowed");
}

/// A good trace as text, and what it says.
fn trace() -> impl Strategy<Value = CoflowTrace> {
    let coflow = (
        0u64..1_000_000,
        proptest::collection::vec(0u32..9, 1..6),
        proptest::collection::vec((0u32..9, 0u64..5_000), 1..6),
    );
    proptest::collection::vec(coflow, 1..10).prop_map(|coflows| CoflowTrace {
        racks: 9,
        coflows: (0..)
            .zip(coflows)
            .map(|(id, (ms, mappers, reducers))| Coflow {
                id,
                at: Time::from_ms(ms),
                mappers,
                reducers: reducers.into_iter().map(|(rack, kb)| (rack, kb * 1_000)).collect(),
            })
            .collect(),
    })
}

fn write(trace: &CoflowTrace) -> String {
    let mut text = format!("{} {}\n", trace.racks, trace.coflows.len());
    for coflow in &trace.coflows {
        text += &format!("{} {} {}", coflow.id, coflow.at.as_us() / 1_000, coflow.mappers.len());
        coflow.mappers.iter().for_each(|rack| text += &format!(" {rack}"));
        text += &format!(" {}", coflow.reducers.len());
        for (rack, bytes) in &coflow.reducers {
            text += &format!(" {rack}:{}.{:06}", bytes / 1_000_000, bytes % 1_000_000);
        }
        text += "\n";
    }
    text
}

proptest! {
    #[test]
    fn what_is_written_is_read(trace in trace()) {
        prop_assert_eq!(parse(write(&trace).as_bytes()).expect("good"), trace);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }

    #[test]
    fn damaged_traces_never_panic(trace in trace(), at: prop::sample::Index, byte: u8) {
        let mut bytes = write(&trace).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = parse(&bytes);
    }

    #[test]
    fn a_truncated_trace_is_refused(trace in trace(), at: prop::sample::Index) {
        let text = write(&trace);
        let last = text.trim_end().rfind(' ').expect("fields");
        prop_assert!(parse(&text.as_bytes()[..at.index(last + 1)]).is_err());
    }
}
