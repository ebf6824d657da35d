//! What is added to a scenario, and in which order it is written, has no effect on what it has nothing to do
//! with.

use crate::support::{base, finish, hosts, link};
use fabric::PortId;
use serde_json::{Value, json};
use sim::{Pause, Sim};
use std::collections::BTreeMap;
use units::Time;

/// A flow as its users know it: its job, its ends, which of several between the two. Its route by names, and
/// its times.
type Flows = BTreeMap<(String, String, String, usize), (Vec<String>, u16, Time, Option<Time>)>;

fn build(scenario: &Value) -> Sim {
    scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap()
}

fn flows(scenario: &Value) -> Flows {
    let mut sim = build(scenario);
    assert_eq!(finish(&mut sim), Pause::Finished);
    sim.close();
    let jobs: Vec<String> = sim.job_records().into_iter().map(|job| job.name).collect();
    let graph = sim.graph().clone();
    let mut flows = Flows::new();
    let mut count = BTreeMap::new();
    for flow in sim.take_records().flows {
        let name = |host: u32| graph.name(fabric::NodeId(host)).to_owned();
        let ends = (jobs[flow.job as usize].clone(), name(flow.from.host.0), name(flow.to.host.0));
        let number = count.entry(ends.clone()).or_insert(0);
        *number += 1;
        let route = flow.ways[0].map(|way| sim.network().path(way)).unwrap_or_default();
        let names = route.iter().map(|port: &PortId| name(sim.network().ends(*port).1.0)).collect();
        flows.insert((ends.0, ends.1, ends.2, *number), (names, flow.from.port, flow.start, flow.end));
    }
    flows
}

fn bulk(name: &str, pairs: &[(&str, &str)], bytes: u64) -> Value {
    json!({"name": name, "start": 0, "class": 0, "work": {"kind": "bulk", "pairs": pairs, "bytes": bytes}})
}

/// Four leaves with four hosts, four spines: 32 flows between leaves in two jobs, and a capture's worth of
/// ways.
fn fabric_of_leaves(jobs: Value) -> Value {
    let mut scenario = base(1);
    scenario["topology"] = json!({"kind": "leaf-spine", "leaves": [4, 4, 4, 4], "spines": 4,
        "host_link": link(10_000, 1000), "uplink": link(10_000, 1000), "uplinks_per_spine": 2});
    scenario["jobs"] = jobs;
    scenario
}

fn shuffle(name: &str, from: u32) -> Value {
    let members: Vec<String> = (0..8).map(|n| format!("host{}", from + 2 * n)).collect();
    json!({"name": name, "start": 0, "class": 0, "work":
        {"kind": "all-to-all", "hosts": members, "bytes": 200_000, "parallel": 3, "order": "rotated", "skew": 0}})
}

/// Routes and ports of the flows of `job`.
fn choices(flows: &Flows, job: &str) -> Vec<(Vec<String>, u16)> {
    let own = flows.iter().filter(|((of, ..), _)| of == job);
    own.map(|(_, (route, port, ..))| (route.clone(), *port)).collect()
}

#[test]
fn a_tiny_job_in_front_moves_no_other_flow() {
    let alone = flows(&fabric_of_leaves(json!([shuffle("even", 0), shuffle("odd", 1)])));
    for name in ["aaa", "zzz", "even2"] {
        let tiny = bulk(name, &[("host0", "host4"), ("host1", "host5")], 1);
        let with = flows(&fabric_of_leaves(json!([tiny, shuffle("even", 0), shuffle("odd", 1)])));
        for job in ["even", "odd"] {
            assert_eq!(choices(&with, job), choices(&alone, job));
        }
        assert_eq!(with.len(), alone.len() + 2);
    }
    // The other job's load moves times, and still no route.
    let single = flows(&fabric_of_leaves(json!([shuffle("odd", 1)])));
    assert_eq!(choices(&single, "odd"), choices(&alone, "odd"));
    // They are spread: no port or route for all.
    let spines = choices(&alone, "odd").into_iter().map(|(route, _)| route[1].clone());
    let spines: std::collections::BTreeSet<String> =
        spines.filter(|name| name.starts_with("spine")).collect();
    assert_eq!(spines.len(), 4);
}

#[test]
fn flows_that_meet_nobody_keep_their_times() {
    let pair = |name, a, b| bulk(name, &[(a, b)], 300_000);
    let one = |jobs| {
        let mut scenario = base(4);
        scenario["jobs"] = jobs;
        flows(&scenario)
    };
    let alone = one(json!([pair("b", "host0", "host1")]));
    let with = one(json!([pair("a", "host2", "host3"), pair("b", "host0", "host1")]));
    let own: Flows = with.into_iter().filter(|((job, ..), _)| job == "b").collect();
    assert_eq!(own, alone);
}

#[test]
fn the_order_of_jobs_has_no_effect() {
    let jobs = [shuffle("even", 0), shuffle("odd", 1), bulk("c", &[("host3", "host9")], 500_000)];
    let forwards = flows(&fabric_of_leaves(json!(jobs)));
    let turned: Vec<&Value> = jobs.iter().rev().collect();
    assert_eq!(flows(&fabric_of_leaves(json!(turned))), forwards);
}

/// Any graph: six hosts with RED, loss and a dead link on the way, written in the given order.
fn any_graph(nodes: Vec<Value>, links: Vec<Value>) -> Value {
    let mut scenario = base(1);
    scenario["topology"] = json!({"kind": "graph", "nodes": nodes, "links": links});
    scenario["hosts"] = hosts("cubic", false, 10);
    scenario["switches"][0]["config"]["queue"] = json!({"kind": "red", "min": {"bytes": 10_000},
        "max": {"bytes": 40_000}, "max_p": 0.1, "weight": 0.1, "gentle": true, "ecn": false});
    let members: Vec<String> = [2, 10, 1, 0, 7, 3].iter().map(|n| format!("host{n}")).collect();
    scenario["jobs"] = json!([{"name": "all", "start": 0, "class": 0, "work": {"kind": "all-to-all",
        "hosts": members, "bytes": 300_000, "parallel": 2, "order": "rotated", "skew": 0}}]);
    scenario["faults"] = json!([
        {"at": 0, "change": {"kind": "loss", "a": "leaf1", "b": "spine2", "probability": 0.01}},
        {"at": 1_000_000_000, "change": {"kind": "link-down", "a": "leaf0", "b": "spine10"}},
    ]);
    scenario
}

#[test]
fn the_order_of_hosts_switches_and_links_has_no_effect() {
    let node = |name: &str, kind| json!({"name": name, "kind": kind});
    let mut nodes: Vec<Value> =
        ["host0", "host1", "host2", "host3", "host7", "host10"].map(|name| node(name, "host")).into();
    nodes.extend(["leaf0", "leaf1", "spine1", "spine2", "spine10"].map(|name| node(name, "switch")));
    let join = |a: &str, b: &str| json!({"a": a, "b": b, "ab": link(1000, 1000), "ba": link(2000, 3000)});
    let mut links: Vec<Value> = Vec::new();
    for (leaf, members) in [("leaf0", ["host0", "host7", "host2"]), ("leaf1", ["host1", "host10", "host3"])] {
        links.extend(members.map(|host| join(host, leaf)));
        links.extend(["spine1", "spine2", "spine10"].map(|spine| join(leaf, spine)));
    }
    let first = flows(&any_graph(nodes.clone(), links.clone()));
    assert_eq!(first.len(), 30);
    nodes.reverse();
    links.rotate_left(5);
    // A link may be written from either end.
    links[3] = json!({"a": links[3]["b"], "b": links[3]["a"], "ab": links[3]["ba"], "ba": links[3]["ab"]});
    assert_eq!(flows(&any_graph(nodes, links)), first);
}
