//! What faults do to flows: each goes on or ends and says why, and counters count what was sent.

use crate::support::{base, finish, us};
use fabric::PortId;
use serde_json::{Value, json};
use sim::{Outcome, Pause};
use units::Time;

#[test]
fn flows_that_wait_for_their_nic_outlive_a_link_fault() {
    // Flows to host2 wait for the NIC behind a large one to host1 when the way to host2 is gone for 2 ms.
    for at in [900, 1050, 1100, 1200, 1300, 2000] {
        let mut scenario = base(3);
        let flows: Vec<_> = (0..8)
            .map(|n| {
                json!({"at": us(1000 + 7 * n), "from": "host0", "to": "host2", "bytes": 20_000, "group": 0})
            })
            .collect();
        scenario["jobs"] = json!([
            {"name": "large", "start": 0, "class": 0,
                "work": {"kind": "bulk", "pairs": [["host0", "host1"]], "bytes": 3_000_000}},
            {"name": "small", "start": 0, "class": 0, "work": {"kind": "replay", "flows": flows}},
        ]);
        scenario["faults"] = json!([
            {"at": us(at), "change": {"kind": "link-down", "a": "switch0", "b": "host2"}},
            {"at": us(at + 2000), "change": {"kind": "link-up", "a": "switch0", "b": "host2"}},
        ]);
        let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
        assert_eq!(finish(&mut sim), Pause::Finished, "link down at {at} us");
        sim.close();
        let flows = sim.take_records().flows;
        assert_eq!(flows.len(), 9);
        assert!(flows.iter().all(|flow| flow.outcome == Outcome::Finished), "link down at {at} us");
    }
}

#[test]
fn a_load_without_a_flow_is_over_when_it_starts() {
    let mut scenario = base(3);
    scenario["jobs"] = json!([{"name": "none", "start": us(10), "class": 0, "work": {"kind": "load",
        "hosts": ["host0", "host1"], "sizes": [[1000, 0.5], [10_000_000, 1.0]], "load": 0.01, "duration": us(1)}}]);
    let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
    assert_eq!(finish(&mut sim), Pause::Finished);
    let job = &sim.job_records()[0];
    assert_eq!((job.flows, job.end), (0, Some(Time::from_us(10))));
}

#[test]
fn a_flow_that_one_end_has_given_up_has_timed_out() {
    // The last part of the handshake is lost, and the link stays down for longer than the server sends its
    // SYN again.
    let mut scenario = base(2);
    scenario["jobs"] = json!([{"name": "bulk", "start": 0, "class": 0,
        "work": {"kind": "bulk", "pairs": [["host0", "host1"]], "bytes": 1000}}]);
    scenario["faults"] = json!([
        {"at": us(8), "change": {"kind": "link-down", "a": "switch0", "b": "host1"}},
        {"at": us(200_000_000), "change": {"kind": "link-up", "a": "switch0", "b": "host1"}},
    ]);
    let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
    finish(&mut sim);
    sim.close();
    let flows = sim.take_records().flows;
    assert_eq!(flows.len(), 1);
    // The server's reset comes when the client sends its data again.
    assert_eq!(flows[0].outcome, Outcome::TimedOut);
}

/// Packets that a capture of all ports shows as sent, by port, and what counters say.
fn captured(scenario: &Value) -> Vec<(PortId, u64, u64, Vec<Time>)> {
    let mut scenario = scenario.clone();
    scenario["measure"]["capture"] = json!(["*"]);
    let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
    finish(&mut sim);
    let packets = sim.take_records().packets;
    let now = sim.progress().now;
    let ports: Vec<PortId> = sim.network().ports().collect();
    let count = |port: PortId| {
        let own = packets.iter().filter(|packet| packet.port == port && packet.discard.is_none());
        let mut times: Vec<Time> = own.map(|packet| packet.time).collect();
        times.sort_unstable();
        (port, times.len() as u64, sim.network().counters(now, port).sent_packets, times)
    };
    ports.into_iter().map(count).collect()
}

/// Four hosts send to a fifth over a queue that fills.
fn crowd() -> Value {
    let mut scenario = base(5);
    scenario["jobs"] = json!([{"name": "crowd", "start": 0, "class": 0, "work": {"kind": "incast", "rounds": 1,
        "senders": ["host0", "host1", "host2", "host3"], "receiver": "host4", "bytes": 200_000}}]);
    scenario
}

#[test]
fn a_capture_shows_no_packet_that_never_left() {
    let mut scenario = crowd();
    scenario["faults"] = json!([
        {"at": us(1000), "change": {"kind": "link-down", "a": "switch0", "b": "host4"}},
        {"at": us(2000), "change": {"kind": "link-up", "a": "switch0", "b": "host4"}},
    ]);
    for (port, captured, sent, _) in captured(&scenario) {
        assert_eq!(captured, sent, "{port:?}");
    }
    // A run that ends while packets wait shows those that have left, and counts them; so does a switch of
    // cells.
    scenario["until"] = json!(us(900));
    let cells = json!({"kind": "cells", "limit": 2000, "discard": "tail", "threshold": 0, "encapsulation": 8,
        "sonet": false, "reassembly_timeout": us(10_000)});
    for buffer in [scenario["switches"][0]["config"]["buffer"].clone(), cells] {
        scenario["switches"][0]["config"]["buffer"] = buffer;
        for (port, captured, sent, _) in captured(&scenario) {
            assert_eq!(captured, sent, "{port:?}");
        }
    }
}

#[test]
fn captured_packets_leave_at_the_rate_that_the_link_has_then() {
    let mut scenario = crowd();
    scenario["faults"] = json!([{"at": us(1000), "change":
        {"kind": "rate", "a": "switch0", "b": "host4", "rate": 100_000_000}}]);
    // 1538 bytes at 100 Mb/s; the packet that is being sent at the change ends as it began.
    let least = Time::from_ns(123_040);
    let (_, _, _, times) = captured(&scenario).into_iter().max_by_key(|port| port.1).unwrap();
    let close = times.windows(2).filter(|pair| pair[0] > Time::from_us(1013) && pair[1] - pair[0] < least);
    // The last segments of the four flows are short.
    assert!(close.count() <= 8, "of {}", times.len());
}

#[test]
fn who_looks_at_fluid_does_not_change_it() {
    let mut scenario = crowd();
    let fluid = json!({"kind": "background", "pairs": [["host0", "host4"], ["host1", "host2"]], "rate": 333_333_333,
        "over": "udp", "model": "fluid", "duration": null});
    scenario["jobs"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "fluid", "start": 0, "class": 0, "work": fluid}));
    let shared = json!({"kind": "shared", "size": 300_000, "alpha": 1.0, "reserve": 0, "cell": 256});
    for buffer in [scenario["switches"][0]["config"]["buffer"].clone(), shared] {
        scenario["switches"][0]["config"]["buffer"] = buffer;
        let fingerprint = |looks: bool| {
            let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
            while sim.run(7) == Pause::Running {
                let now = sim.progress().now;
                let ports: Vec<PortId> = sim.network().ports().filter(|_| looks).collect();
                for port in ports {
                    sim.network().sample(now, port);
                    sim.network().counters(now, port);
                }
            }
            sim.progress().fingerprint
        };
        assert_eq!(fingerprint(true), fingerprint(false));
    }
}

/// The longest wait at the port to host4, the packets of which waits are known, and those that were sent.
fn waits(scenario: &Value) -> (Time, u64, u64) {
    let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
    finish(&mut sim);
    let (now, graph) = (sim.progress().now, sim.graph().clone());
    let network = sim.network();
    let port = network.ports().find(|port| graph.name(network.ends(*port).1) == "host4").unwrap();
    let sent = network.counters(now, port).sent_packets;
    let waits = network.waits(port);
    (waits.longest(), waits.buckets().map(|(.., packets)| packets).sum(), sent)
}

#[test]
fn a_packet_that_never_left_has_no_wait() {
    let mut scenario = crowd();
    let shared = json!({"kind": "shared", "size": 3_000_000, "alpha": 8.0, "reserve": 0, "cell": 256});
    for buffer in [scenario["switches"][0]["config"]["buffer"].clone(), shared] {
        scenario["switches"][0]["config"]["buffer"] = buffer;
        scenario["faults"] =
            json!([{"at": us(1000), "change": {"kind": "link-down", "a": "switch0", "b": "host4"}}]);
        scenario["until"] = json!(us(1500));
        let (longest, known, sent) = waits(&scenario);
        assert!(Time::ZERO < longest && longest < Time::from_us(1000), "{longest}");
        assert_eq!(known, sent);
    }
}

#[test]
fn packets_wait_as_long_as_the_link_takes_then() {
    let mut scenario = crowd();
    scenario["faults"] = json!([{"at": us(1000), "change":
        {"kind": "rate", "a": "switch0", "b": "host4", "rate": 10_000_000}}]);
    scenario["until"] = json!(us(1100));
    // So many packets of 1538 bytes wait that they take more than 40 ms at 10 Mb/s, and less than 4 ms at 1
    // Gb/s.
    let (longest, ..) = waits(&scenario);
    assert!(longest > Time::from_ms(40), "{longest}");
}
