//! Hosts with different TCP settings at one queue: what happens to those without ECN where others have it.
//!
//! Source: RFC 3168 5 (marked or dropped); the Hadoop document's slides 77 to 79: data nodes without ECN, and
//! log uploads to them, met drops at queues that marked everybody else's packets.

use fabric::{Discard, PortId};
use serde_json::{Value, json};
use sim::{FlowRecord, Pause, Sim};
use std::fs;

/// A host's settings; only the congestion control and ECN differ.
fn host(congestion: &str, ecn: &str) -> Value {
    json!({
        "mtu": 1500, "nic_queue": 64_000, "cores": 4, "disk": 4_000_000_000_u64,
        "tcp": {
            "congestion": congestion, "ecn": ecn, "ecn_fallback": true, "sack": true, "rack": true,
            "tail_loss_probe": true, "limited_transmit": true, "fast_retransmit": 3, "clock_tick": 0, "timestamps": true, "initial_window": 10,
            "hystart": false, "rto_initial": {"fixed": 1_000_000_000_000_u64},
            "rto_min": {"fixed": 10_000_000_000_u64}, "rto_max": {"fixed": 120_000_000_000_000_u64},
            "ack_every": 2, "delayed_ack": 1_000_000_000_u64, "receive_buffer": 6_291_456,
            "receive_buffer_max": 6_291_456, "send_buffer": 4_194_304, "dctcp_shift": 4,
            "htcp_rtt_scaling": true
        }
    })
}

/// One switch that marks from 65 packets on and has room for 2000. Hosts run DCTCP but for host3, a stray
/// data node without ECN.
fn scenario(flows: &[(&str, &str)], bytes: u64) -> scenario::Scenario {
    let link = json!({"rate": 10_000_000_000_u64, "delay": 1_000_000, "mtu": 9000});
    let text = json!({
        "name": "mixed", "seed": 1,
        "topology": {"kind": "single-switch", "hosts": 4, "host_link": link},
        "framing": {"overhead": 38, "min_payload": 46},
        "switches": [{"pattern": "*", "config": {
            "buffer": {"kind": "static", "limit": {"packets": 2000}},
            "queue": {"kind": "step", "threshold": {"packets": 65}},
            "class_queues": [], "scheduler": {"kind": "fifo"}
        }}],
        "hosts": [
            {"pattern": "*", "config": host("dctcp", "on")},
            {"pattern": "host3", "config": host("htcp", "off")}
        ],
        "jobs": [{"name": "flows", "start": 0, "class": 0, "work": {"kind": "replay", "flows":
            flows.iter().map(|(from, to)| json!({"at": 0, "from": from, "to": to, "bytes": bytes, "group": 0}))
                .collect::<Vec<_>>()
        }}],
        "faults": [],
        "measure": {"interval": null, "ports": [], "flows": false, "capture": ["switch0:host2", "switch0:host3"]},
        "until": null
    });
    scenario::parse(&text.to_string()).unwrap()
}

/// Flows, marks and early drops of a run.
fn run(scenario: &scenario::Scenario) -> (Vec<FlowRecord>, u64, u64) {
    let mut sim: Sim = scenario::build(scenario).unwrap();
    while sim.run(1 << 20) == Pause::Running {}
    let now = sim.progress().now;
    sim.close();
    let flows = sim.take_records().flows;
    let ports: Vec<PortId> = sim.network().ports().collect();
    let counters: Vec<_> = ports.into_iter().map(|port| sim.network().counters(now, port)).collect();
    assert!(counters.iter().all(|c| c.discards.of(Discard::Tail) == 0), "there is room enough");
    let marks = counters.iter().map(|c| c.marks).sum();
    (flows, marks, counters.iter().map(|c| c.discards.of(Discard::Early)).sum())
}

fn from(flows: &[FlowRecord], host: u32) -> &FlowRecord {
    flows.iter().find(|flow| flow.from.host.0 == host).expect("a flow of that host")
}

#[test]
fn the_same_queue_marks_the_ecn_capable_and_drops_the_others() {
    let (flows, marks, drops) = run(&scenario(&[("host0", "host2"), ("host1", "host2")], 20_000_000));
    assert!(marks > 1000 && drops == 0, "without strays: {marks} marks, {drops} drops");
    assert!(flows.iter().all(|flow| flow.retransmits == 0 && flow.ece_acks > 0));
    let all_dctcp = from(&flows, 0).end.unwrap();

    let (flows, marks, drops) = run(&scenario(&[("host0", "host2"), ("host3", "host2")], 20_000_000));
    let (dctcp, stray) = (from(&flows, 0), from(&flows, 3));
    assert!(marks > 0 && drops > 0, "with a stray: {marks} marks, {drops} drops");
    assert_eq!((dctcp.retransmits, dctcp.timeouts), (0, 0), "nothing of DCTCP is dropped");
    assert_eq!(stray.ece_acks, 0);
    assert!(stray.retransmits >= drops - 1, "every drop is the stray's: {stray:?}");
    assert!(stray.end > dctcp.end && dctcp.end.unwrap() < all_dctcp, "the one that is dropped gives way");
}

#[test]
fn a_dctcp_host_that_writes_to_a_stray_has_no_ecn_there() {
    // Two log uploads to the node without ECN.
    let (flows, marks, drops) = run(&scenario(&[("host0", "host3"), ("host1", "host3")], 20_000_000));
    assert!(drops > 0);
    assert!(flows.iter().all(|flow| flow.ece_acks == 0));
    assert!(flows.iter().map(|flow| flow.retransmits).sum::<u64>() >= drops - 2);
    // Only the SYNs of DCTCP are ECN-capable.
    assert!(marks <= 2, "{marks}");
}

#[test]
fn a_capture_tells_which_packets_are_retransmissions() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(&[("host0", "host3"), ("host1", "host3")], 2_000_000);
    let (flows, ..) = run(&scenario);
    scenario::run(
        &scenario,
        &folder.path().join("out"),
        false,
        &scenario::Linux::default(),
        std::num::NonZeroUsize::MIN,
        None,
        &mut |_| true,
    )
    .unwrap();
    let comments = |port: &str| {
        let bytes =
            fs::read(folder.path().join("out/captures").join(format!("switch0-{port}.pcapng"))).unwrap();
        bytes.windows(14).filter(|window| window == b"retransmission").count() as u64
    };
    let again = flows.iter().map(|flow| flow.retransmits).sum::<u64>();
    assert!(again > 0);
    assert_eq!((comments("host3"), comments("host2")), (again, 0));
}
