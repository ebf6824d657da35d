//! Known networks in the simulator, measured by probes and inferred from what they say.

use broadcast::infer::{Inferred, infer};
use broadcast::probe::{Prober, Sample, Setup as Probes, rounds};
use broadcast::topology::{Kind, LinkData, NodeData, Topology, TopologyData};
use fabric::{Framing, Graph, Link, LinkProps, SwitchConfig};
use process::{HostId, Process};
use sim::{HostConfig, JobSetup, Pause, Setup, Sim};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Rate, Time};

const MBPS: i64 = 1_000_000;

/// A network: hosts with their switch and their rates up and down; switches but the first with theirs to the
/// first.
fn network(hosts: &[(usize, i64, i64)], switches: &[(i64, i64)]) -> TopologyData {
    let node = |id: String, kind| NodeData { id, kind, cap: None };
    let mut nodes: Vec<_> = (0..hosts.len()).map(|at| node(format!("h{at}"), Kind::Host)).collect();
    nodes.extend((0..=switches.len()).map(|at| node(format!("s{at}"), Kind::Switch)));
    let link = |a: String, b: String, (ab, ba): (i64, i64)| LinkData { a, b, ab: ab * MBPS, ba: ba * MBPS };
    let mut links: Vec<_> = hosts
        .iter()
        .enumerate()
        .map(|(at, (switch, up, down))| link(format!("h{at}"), format!("s{switch}"), (*up, *down)))
        .collect();
    let between = switches.iter().enumerate();
    links.extend(between.map(|(at, rates)| link(format!("s{}", at + 1), "s0".into(), *rates)));
    TopologyData { nodes, links }
}

/// The simulator's form.
fn graph(data: &TopologyData) -> Graph {
    let named = |kind| data.nodes.iter().filter(move |node| node.kind == kind).map(|node| node.id.clone());
    let find = |name: &str| {
        let at = data.nodes.iter().position(|node| node.id == name).unwrap();
        fabric::NodeId(at as u32)
    };
    let props =
        |rate: i64| LinkProps { rate: Rate::from_bps(rate as u64), delay: Time::from_us(50), mtu: 1500 };
    let link =
        |each: &LinkData| Link { a: find(&each.a), b: find(&each.b), ab: props(each.ab), ba: props(each.ba) };
    let links = data.links.iter().map(link).collect();
    Graph::new(named(Kind::Host).collect(), named(Kind::Switch).collect(), links).unwrap()
}

fn measure(data: &TopologyData, seed: u64) -> (Vec<Sample>, Inferred) {
    let graph = graph(data);
    let hosts = graph.hosts();
    let all: Vec<HostId> = (0..hosts as u32).map(HostId).collect();
    let setup = Arc::new(Probes::new(rounds(&all, seed)));
    let probers: Vec<Prober> = all.iter().map(|_| Prober::new(Arc::clone(&setup))).collect();
    let boards: Vec<_> = probers.iter().map(Prober::board).collect();
    let boxed = |(host, prober): (HostId, Prober)| (host, Box::new(prober) as Box<dyn Process>);
    let job = JobSetup {
        name: "probe".into(),
        kind: "broadcast".into(),
        start: Time::ZERO,
        class: 0,
        background: false,
        processes: all.iter().copied().zip(probers).map(boxed).collect(),
    };
    let host = HostConfig { cores: 2, disk: Rate::from_gbps(8), ..HostConfig::default() };
    let mut sim = Sim::new(Setup {
        switches: vec![SwitchConfig::default(); graph.nodes() - hosts],
        graph,
        framing: Framing::ETHERNET,
        seed,
        hosts: vec![host; hosts],
        jobs: vec![job],
        faults: Vec::new(),
        until: Time::from_secs(100),
    });
    while sim.run(1 << 20) == Pause::Running {}
    let samples: Vec<Sample> = boards.iter().flat_map(|board| board.samples()).collect();
    let names = (0..hosts as u32).map(|host| (host, format!("h{host}"))).collect();
    let found = infer(&names, &samples).expect("every host was measured");
    Topology::try_from(found.topology.clone()).expect("a topology that can be");
    (samples, found)
}

/// The rates of the link of a node towards the others, up and down.
fn rates(data: &TopologyData, node: &str) -> (i64, i64) {
    let link = data.links.iter().find(|link| link.a == node).unwrap();
    (link.ab, link.ba)
}

/// Errors of the links of all hosts, both ways; printed, and the largest.
fn errors(data: &TopologyData, found: &Inferred, of: impl Fn(usize, i64, i64) -> (i64, i64)) -> f64 {
    let hosts = data.nodes.iter().filter(|node| node.kind == Kind::Host).count();
    let mut largest: f64 = 0.0;
    for host in 0..hosts {
        let (up, down) = rates(data, &format!("h{host}"));
        let (up, down) = of(host, up, down);
        let (got_up, got_down) = rates(&found.topology, &format!("h{host}"));
        let error = |is: i64, got: i64| (got - is) as f64 / is as f64;
        println!(
            "h{host}: up {:.1} of {:.1} Mb/s ({:+.1} %), down {:.1} of {:.1} Mb/s ({:+.1} %)",
            got_up as f64 / 1e6,
            up as f64 / 1e6,
            100.0 * error(up, got_up),
            got_down as f64 / 1e6,
            down as f64 / 1e6,
            100.0 * error(down, got_down),
        );
        largest = largest.max(error(up, got_up).abs()).max(error(down, got_down).abs());
    }
    largest
}

fn switches(found: &Inferred) -> usize {
    found.topology.nodes.iter().filter(|node| node.kind == Kind::Switch).count()
}

#[test]
fn a_star_of_different_rates() {
    let hosts: Vec<_> = [100, 100, 50, 20, 100, 80, 10, 100].iter().map(|rate| (0, *rate, *rate)).collect();
    let data = network(&hosts, &[]);
    let (_, found) = measure(&data, 1);
    let largest = errors(&data, &found, |_, up, down| (up, down));
    println!("explained {:.2}, links {:?}", found.explained, found.sure);
    assert_eq!(switches(&found), 1);
    assert!(largest < 0.15, "{largest}");
    assert!(found.explained > 0.8, "{}", found.explained);
}

#[test]
fn a_star_whose_directions_differ() {
    let hosts: Vec<_> = [(100, 20), (100, 100), (20, 100), (50, 100), (100, 50), (100, 100)]
        .iter()
        .map(|(u, d)| (0, *u, *d))
        .collect();
    let data = network(&hosts, &[]);
    let (_, found) = measure(&data, 2);
    let largest = errors(&data, &found, |_, up, down| (up, down));
    println!("explained {:.2}", found.explained);
    assert_eq!(switches(&found), 1);
    assert!(largest < 0.15, "{largest}");
}

#[test]
fn clusters_behind_thin_links() {
    let hosts: Vec<_> = (0..12).map(|at| (1 + at / 4, 100, 100)).collect();
    let data = network(&hosts, &[(120, 120), (120, 120), (60, 60)]);
    let (_, found) = measure(&data, 3);
    let largest = errors(&data, &found, |_, up, down| (up, down));
    println!("explained {:.2}; {:#?}", found.explained, &found.topology.links[12..]);
    assert!(largest < 0.15, "{largest}");
    // Hosts of a cluster share a switch with each other and nobody else.
    let above: BTreeMap<usize, &str> =
        found.topology.links[..12].iter().map(|link| (link.a[1..].parse().unwrap(), &*link.b)).collect();
    for a in 0..12 {
        for b in 0..12 {
            assert_eq!(above[&a] == above[&b], a / 4 == b / 4, "{a} {b}");
        }
    }
    for (cluster, rate) in [(0, 120), (1, 120), (2, 60)] {
        let (out, back) = rates(&found.topology, above[&(4 * cluster)]);
        for got in [out, back] {
            let error = got as f64 / (rate * MBPS) as f64 - 1.0;
            println!("cluster {cluster}: {:.1} of {rate} Mb/s ({:+.1} %)", got as f64 / 1e6, 100.0 * error);
            assert!(error.abs() < 0.15, "{error}");
        }
    }
}

#[test]
fn two_hosts_are_enough_and_one_is_not() {
    let data = network(&[(0, 40, 10), (0, 20, 30)], &[]);
    let (_, found) = measure(&data, 4);
    // A link is only seen as fast as the other end lets it be.
    let largest = errors(&data, &found, |host, _, _| [(30 * MBPS, 10 * MBPS), (10 * MBPS, 30 * MBPS)][host]);
    assert!(largest < 0.15, "{largest}");
    assert!(infer(&BTreeMap::from([(0, "alone".to_owned())]), &[]).is_none());
}

#[test]
fn what_was_not_measured_is_not_made_up() {
    let data = network(&[(0, 40, 40), (0, 40, 40), (0, 40, 40)], &[]);
    let (samples, _) = measure(&data, 5);
    let names = (0..4).map(|host| (host, format!("h{host}"))).collect();
    assert!(infer(&names, &samples).is_none());
    let strange = Sample { round: 0, from: 77, to: 0, bytes: u64::MAX, micros: 0 };
    let names = (0..3).map(|host| (host, format!("switch{host}"))).collect();
    let found = infer(&names, &[samples, vec![strange]].concat()).unwrap();
    assert_eq!(found.topology.nodes[3].id, "switch-");
}
