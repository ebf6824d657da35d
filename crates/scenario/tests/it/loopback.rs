//! What a host sends to itself, and how little that has to do with its links.

use crate::support::{base, finish, link};
use fabric::NodeId;
use serde_json::{Value, json};
use sim::{FlowRecord, Sim};
use units::Time;

/// Bulk flows of so many bytes between hosts with links of `mbps`.
fn bulk(mbps: u64, pairs: &[[&str; 2]], bytes: u64) -> Value {
    let mut scenario = base(2);
    scenario["topology"]["host_link"] = link(mbps, 1000);
    let work = json!({"kind": "bulk", "pairs": pairs, "bytes": bytes});
    scenario["jobs"] = json!([{"name": "bulk", "start": 0, "class": 0, "work": work}]);
    scenario
}

fn run(scenario: &Value) -> (Sim, Vec<FlowRecord>) {
    let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
    finish(&mut sim);
    sim.close();
    let flows = sim.take_records().flows;
    (sim, flows)
}

#[test]
fn a_host_loses_nothing_that_it_sends_to_itself() {
    for mbps in [10, 100, 1000, 10_000, 400_000] {
        let (mut sim, flows) = run(&bulk(mbps, &[["host0", "host0"]; 3], 30_000_000));
        let (now, network) = (sim.progress().now, sim.network());
        let port = network.loopback(NodeId(0));
        let counters = network.counters(now, port);
        assert_eq!(counters.discards.total(), 0, "links of {mbps} Mb/s");
        assert!(flows.iter().all(|flow| flow.retransmits == 0), "links of {mbps} Mb/s: {flows:?}");
        // 64 kB of data, and acknowledgements between them.
        assert!(counters.queue_max_bytes < 70_000, "links of {mbps} Mb/s: {counters:?}");
        // 62,000 segments of 1538 bytes on the wire and half as many acknowledgements, at 100 Gb/s.
        assert!((Time::from_us(7500)..Time::from_us(8500)).contains(&now), "links of {mbps} Mb/s: {now}");
    }
}

#[test]
fn a_host_that_waits_for_its_link_sends_to_itself() {
    let pairs = [["host0", "host1"], ["host0", "host1"], ["host0", "host1"], ["host0", "host0"]];
    for (mbps, bytes) in [(100, 1_000_000), (10_000, 10_000_000)] {
        let (_, flows) = run(&bulk(mbps, &pairs, bytes));
        let (own, others): (Vec<&FlowRecord>, Vec<&FlowRecord>) =
            flows.iter().partition(|flow| flow.from.host == flow.to.host);
        let took = |flow: &&FlowRecord| flow.end.unwrap() - flow.start;
        let (own, others) = (own.iter().map(took).max().unwrap(), others.iter().map(took).min().unwrap());
        assert!(own < Time::from_ms(1) && others > Time::from_ms(10), "{own} and {others}");
    }
}
