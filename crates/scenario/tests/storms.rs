//! Random scenarios with faults: topologies, loads, link flaps, crashes, loss, damage, changes of rate, storms of PAUSE
//! frames; static, shared and VOQ buffers; RED, CoDel, step marking; ETS and PFC. Whatever happens:
//!
//! - packets are conserved at every switch, and nothing is left in the network at the end;
//! - every flow ends, and one that does not end well has a crashed host at one of its ends;
//! - a run that does not finish its jobs says why: a crash, or a deadlock of PFC;
//! - counters are consistent, and the same seed gives the same bytes.
//!
//! The ordinary tests try a few cases with three seeds each, `make search` 2,000. A failure prints the command that runs
//! its case again.

mod support;

use fabric::{Discard, Graph, NodeId, PortId};
use rand::RngExt;
use rand_pcg::Pcg64;
use serde_json::{Value, json};
use sim::{FlowRecord, Outcome, Pause, Sim, rng};
use std::collections::BTreeSet;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{base, finish, hosts, link, us};
use units::Time;

/// Cases of the ordinary tests.
const FEW: u64 = 60;
/// All faults are over by then.
const CALM: u64 = 40_000;

#[test]
fn packets_are_conserved_and_flows_end_whatever_fails() {
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let cases = match number("STORM_CASE") {
        Some(case) => case..case + 1,
        None => 0..number("STORM_CASES").unwrap_or(FEW),
    };
    let mut failed = Vec::new();
    for case in cases {
        let scenario = scenario(&mut rng::stream(case, "storm"));
        for seed in 1..=3 {
            if catch_unwind(AssertUnwindSafe(|| check(&scenario, seed))).is_err() {
                eprintln!("seed {seed} of case {case}: {scenario}");
                eprintln!(
                    "again: STORM_CASE={case} cargo test -p incast-scenario --test storms -- --nocapture"
                );
                failed.push(case);
                break;
            }
        }
    }
    assert!(failed.is_empty(), "cases {failed:?} failed");
}

fn check(scenario: &Value, seed: u64) {
    let mut scenario = scenario.clone();
    scenario["seed"] = json!(seed);
    let scenario = scenario::parse(&scenario.to_string()).unwrap();
    let mut sim = scenario::build(&scenario).unwrap();
    let end = finish(&mut sim);
    let crashed = crashed(&scenario);
    match end {
        Pause::Finished => {}
        Pause::Idle => assert!(!crashed.is_empty(), "stuck, and nobody crashed"),
        Pause::Deadlock => assert!(sim.deadlock().is_some(), "a deadlock without a cycle"),
        other => panic!("ended with {other:?} at {}", sim.progress().now),
    }
    let fingerprint = sim.progress().fingerprint;
    let settled = settle(&mut sim);
    let now = sim.progress().now;
    let ports: Vec<PortId> = sim.network().ports().collect();
    for &port in &ports {
        let counters = sim.network().counters(now, port);
        // Each packet's time on the wire is whole picoseconds.
        assert!(counters.busy <= now + Time::from_ps(counters.enqueued_packets + 1), "{counters:?} by {now}");
        assert!(counters.sent_packets <= counters.enqueued_packets);
        assert!(counters.abandoned_packets <= counters.discards.of(Discard::Down));
        if settled {
            assert_eq!(counters.sent_packets, counters.enqueued_packets);
            assert_eq!((sim.network().in_transit(port), sim.network().memory_held(port)), (0, 0));
        }
    }
    if settled {
        assert_eq!(sim.network().shared_memory_used(), 0);
        let graph = sim.graph().clone();
        for node in graph.hosts()..graph.nodes() {
            balance(&mut sim, &graph, NodeId(node as u32), &ports, now);
        }
    }
    for pair in sim.datagram_records() {
        assert!(pair.received_packets <= pair.sent_packets);
    }
    let before = sim.take_records().flows;
    let opened = sim.progress().flows;
    sim.close();
    let mut flows = before;
    let released = flows.len() as u64;
    flows.extend(sim.take_records().flows);
    assert_eq!(flows.len() as u64, opened, "every flow has its record");
    if end == Pause::Finished && settled && crashed.is_empty() {
        assert_eq!(released, opened, "nothing of a flow is left in the network");
    }
    for flow in &flows {
        judge(flow, &crashed, end);
    }
    let mut again = scenario::build(&scenario).unwrap();
    assert_eq!((finish(&mut again), again.progress().fingerprint), (end, fingerprint), "the same seed");
    settle(&mut again);
    again.close();
    let mut same = again.take_records().flows;
    flows.sort_by_key(|flow| flow.flow);
    same.sort_by_key(|flow| flow.flow);
    assert_eq!(same, flows, "the same seed");
}

/// Lets what is still on its way come to its end; whether it did.
fn settle(sim: &mut Sim) -> bool {
    for _ in 0..1 << 22 {
        match sim.run(1) {
            Pause::Running | Pause::Finished => {}
            Pause::Idle => return true,
            Pause::Until | Pause::Deadlock => return false,
        }
    }
    false
}

/// Packets that came to a switch have been discarded there, or have left it.
fn balance(sim: &mut Sim, graph: &Graph, node: NodeId, ports: &[PortId], now: Time) {
    let network = sim.network();
    let (mut came, mut gone) = (0, 0);
    let own: Vec<PortId> = ports.iter().copied().filter(|port| network.ends(*port).0 == node).collect();
    for port in own {
        let inbound = network.reverse(port);
        let (to, from) = (network.counters(now, inbound), network.counters(now, port));
        let cut = to.discards.of(Discard::Down) - to.abandoned_packets;
        came += to.sent_packets - to.discards.of(Discard::Lost) - cut;
        let on_link = from.discards.of(Discard::Lost) + from.discards.of(Discard::Down);
        gone += from.enqueued_packets + from.abandoned_packets + from.discards.total() - on_link;
    }
    assert_eq!(came, gone, "packets at {}", graph.name(node));
}

/// A flow ends well, or its end says why, and the reason is there.
fn judge(flow: &FlowRecord, crashed: &BTreeSet<u32>, end: Pause) {
    let hit = [flow.from, flow.to].iter().any(|end| crashed.contains(&end.host.0));
    match flow.outcome {
        Outcome::Finished => assert!(flow.end.is_some() && flow.bytes > 0, "{flow:?}"),
        Outcome::Unfinished => assert!(hit || end == Pause::Deadlock, "{flow:?}"),
        Outcome::Refused | Outcome::Reset | Outcome::TimedOut => assert!(hit, "{flow:?}"),
    }
}

/// Hosts that crash at some time.
fn crashed(scenario: &scenario::Scenario) -> BTreeSet<u32> {
    let sim = scenario::build(scenario).unwrap();
    let host = |fault: &scenario::spec::Fault| match &fault.change {
        scenario::spec::Change::Crash { host } => sim.graph().find(host).map(|node| node.0),
        _ => None,
    };
    scenario.faults.iter().filter_map(host).collect()
}

/// A random scenario.
fn scenario(draws: &mut Pcg64) -> Value {
    let mut scenario = base(2);
    let topology = topology(draws);
    let (names, links) = nodes(&topology);
    let marks = draws.random_bool(0.4);
    let congestion = ["reno", "cubic", "dctcp"][draws.random_range(0..3)];
    scenario["hosts"] = hosts(congestion, marks || congestion == "dctcp", draws.random_range(5..50));
    scenario["topology"] = topology;
    scenario["switches"][0]["config"] = switch(draws, marks);
    let jobs = draws.random_range(1..4);
    scenario["jobs"] = (0..jobs).map(|number| job(draws, number, &names)).collect();
    scenario["faults"] = faults(draws, &names, &links);
    scenario["until"] = json!(us(3_000_000_000));
    scenario
}

fn topology(draws: &mut Pcg64) -> Value {
    let mut some_link =
        || link([100, 1000, 10_000][draws.random_range(0..3)], draws.random_range(100..50_000));
    let (host_link, between) = (some_link(), some_link());
    match draws.random_range(0..4) {
        0 => {
            let count = draws.random_range(2..8);
            json!({"kind": "single-switch", "hosts": count, "host_link": host_link})
        }
        1 => {
            let (left, right) = (draws.random_range(1..4), draws.random_range(1..4));
            json!({"kind": "dumbbell", "left": left, "right": right, "host_link": host_link, "bottleneck": between})
        }
        2 => {
            json!({"kind": "leaf-spine", "leaves": [2, draws.random_range(1..4)], "spines": draws.random_range(1..4),
            "host_link": host_link, "uplink": between, "uplinks_per_spine": draws.random_range(1..3)})
        }
        _ => json!({"kind": "fat-tree", "k": 4, "host_link": host_link, "fabric_link": between}),
    }
}

/// Names of hosts, and the ends of links.
fn nodes(topology: &Value) -> (Vec<String>, Vec<(String, String)>) {
    let view = scenario::expand(&topology.to_string()).unwrap();
    let is_host = |node: &&scenario::NodeView| node.kind == scenario::spec::NodeKind::Host;
    let names = view.nodes.iter().filter(is_host).map(|node| node.name.clone()).collect();
    (names, view.links.iter().map(|link| (link.a.clone(), link.b.clone())).collect())
}

fn switch(draws: &mut Pcg64, ecn: bool) -> Value {
    let size = draws.random_range(200_000..2_000_000);
    let alpha = draws.random_range(0.2..8.0);
    let kind = draws.random_range(0..4);
    let buffer = match kind {
        0 => json!({"kind": "static", "limit": {"packets": draws.random_range(4..200)}}),
        1 => json!({"kind": "static", "limit": {"bytes": draws.random_range(10_000..300_000)}}),
        2 => json!({"kind": "shared", "size": size, "alpha": alpha, "reserve": 0, "cell": 256}),
        _ => {
            json!({"kind": "voq", "size": size, "reserved": 0.1, "multicast": 0.0, "alpha": alpha, "cell": 256,
            "cap": draws.random_range(20_000..200_000), "processors": null})
        }
    };
    let queue = match draws.random_range(0..4) {
        0 => json!({"kind": "tail-drop"}),
        1 => json!({"kind": "step", "threshold": {"bytes": draws.random_range(10_000..100_000)}}),
        2 => json!({"kind": "red", "min": {"bytes": 10_000}, "max": {"bytes": 40_000}, "max_p": 0.1,
            "weight": ([0.002, 0.2, 1.0][draws.random_range(0..3)]), "gentle": draws.random_bool(0.5), "ecn": ecn}),
        _ => {
            json!({"kind": "codel", "target": us(draws.random_range(50..2000)), "interval": us(20_000), "ecn": ecn})
        }
    };
    let ets = draws.random_bool(0.5);
    let weights: Vec<(u8, u32)> = (0..7).map(|class| (class, 1 + u32::from(class))).collect();
    let scheduler =
        if ets { json!({"kind": "ets", "strict": [7], "weights": weights}) } else { json!({"kind": "fifo"}) };
    let mut switch = json!({"buffer": buffer, "queue": queue, "class_queues": [], "scheduler": scheduler});
    if kind == 2 && ets && draws.random_bool(0.6) {
        let watchdog = json!({"poll": us(2000), "detection": us(10_000), "restoration": us(10_000),
            "action": (["drop", "forward"][draws.random_range(0..2)])});
        switch["buffer"]["size"] = json!(40_000_000);
        switch["pfc"] = json!({"classes": [0, 3], "xoff": {"kind": "static", "limit": draws.random_range(5_000..60_000)},
            "xon": 3_000, "headroom": 200_000, "headroom_pool": null, "quanta": 65_535,
            "watchdog": if draws.random_bool(0.5) { watchdog } else { Value::Null }});
    }
    switch
}

fn job(draws: &mut Pcg64, number: u32, names: &[String]) -> Value {
    let bytes = draws.random_range(1..200_000);
    let count = draws.random_range(2..=names.len().min(6));
    let first = draws.random_range(0..names.len());
    let members: Vec<&String> = (0..count).map(|n| &names[(first + n) % names.len()]).collect();
    let end = |draws: &mut Pcg64| draws.random_range(0..count);
    let pairs: Vec<(&String, &String)> = (0..draws.random_range(1..8))
        .map(|_| (end(draws), draws.random_range(1..count)))
        .map(|(from, step)| (members[from], members[(from + step) % count]))
        .collect();
    let work = match draws.random_range(0..6) {
        0 => json!({"kind": "incast", "senders": members[1..], "receiver": members[0], "bytes": bytes,
            "rounds": draws.random_range(1..4)}),
        1 => json!({"kind": "permutation", "hosts": members, "bytes": bytes}),
        2 => json!({"kind": "all-to-all", "hosts": members, "bytes": bytes / 4 + 1,
            "parallel": draws.random_range(1..4), "order": "rotated", "skew": us(500)}),
        3 => {
            json!({"kind": "load", "hosts": members, "sizes": [[1000, 0.5], [bytes + 1000, 1.0]], "load": 0.5,
            "duration": us(3000)})
        }
        4 if number > 0 => json!({"kind": "background", "pairs": pairs, "rate": 20_000_000,
            "over": "udp", "model": "packets", "duration": us(30_000)}),
        _ => {
            let mut at = 0;
            let flows: Vec<Value> = pairs
                .iter()
                .map(|(from, to)| {
                    at += us(draws.random_range(0..4000));
                    json!({"at": at, "from": from, "to": to, "bytes": bytes, "group": 0})
                })
                .collect();
            json!({"kind": "replay", "flows": flows})
        }
    };
    let (start, class) = (us(draws.random_range(0..5000)), [0, 3, 5, 7][draws.random_range(0..4)]);
    json!({"name": format!("job{number}"), "start": start, "class": class, "work": work})
}

fn faults(draws: &mut Pcg64, names: &[String], links: &[(String, String)]) -> Value {
    let mut faults = Vec::new();
    for _ in 0..draws.random_range(0..6) {
        let from = us(draws.random_range(0..CALM / 2));
        let to = from + us(draws.random_range(1..CALM / 2));
        let host = &names[draws.random_range(0..names.len())];
        let (a, b) = &links[draws.random_range(0..links.len())];
        let of = |kind: &str| json!({"kind": kind, "a": a, "b": b});
        let with = |kind: &str, field: &str, value: Value| {
            let mut change = of(kind);
            change[field] = value;
            change
        };
        let chance = draws.random_range(0.0..0.2);
        let (begins, ends) = match draws.random_range(0..10) {
            0..4 => (of("link-down"), of("link-up")),
            4 | 5 => (with("loss", "probability", json!(chance)), with("loss", "probability", json!(0.0))),
            6 => (with("corrupt", "probability", json!(chance)), with("corrupt", "probability", json!(0.0))),
            7 => (with("rate", "rate", json!(50_000_000)), with("rate", "rate", json!(500_000_000))),
            8 => (json!({"kind": "crash", "host": host}), json!({"kind": "restart", "host": host})),
            _ => (
                json!({"kind": "pause-storm", "host": host, "class": 3}),
                json!({"kind": "pause-storm-end", "host": host, "class": 3}),
            ),
        };
        faults.push(json!({"at": from, "change": begins}));
        faults.push(json!({"at": to, "change": ends}));
    }
    faults.sort_by_key(|fault| fault["at"].as_u64());
    json!(faults)
}
