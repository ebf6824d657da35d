//! Routes: shortest, evenly spread, around what is down.

use crate::support::{Lab, Load, port};
use fabric::topology::{fat_tree, leaf_spine};
use fabric::{Ecn, Fabric, Framing, Graph, Link, LinkProps, NodeId, SwitchConfig};
use units::{Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };

fn fabric(graph: &Graph) -> Fabric<u32> {
    Fabric::new(graph, Framing::ETHERNET, 3, |_| SwitchConfig::default())
}

#[test]
fn equal_ways_are_used_evenly_and_as_the_hash_says() {
    let graph = leaf_spine(&[2, 2], 4, 1, LINK, LINK).unwrap();
    let mut lab = Lab::new(fabric(&graph));
    let count = 4000;
    for source in 0..count {
        let hash = lab.fabric.flow_hash(NodeId(0), NodeId(2), source, 80, 6);
        let (port, route) = lab.fabric.route(NodeId(0), NodeId(2), hash).unwrap();
        assert_eq!(lab.fabric.route(NodeId(0), NodeId(2), hash), Some((port, route)));
        let packet = fabric::Packet { route, bytes: 40, hash, ..Default::default() };
        lab.fabric.enqueue(lab.now, fabric::PortId::NONE, port, &packet, &mut lab.log);
    }
    lab.run(Time::from_secs(1));
    assert_eq!(lab.delivered.len(), usize::from(count));
    for spine in 0..4 {
        let up = port(&graph, &lab.fabric, "leaf0", &format!("spine{spine}"));
        let packets = lab.fabric.counters(lab.now, up).sent_packets;
        assert!((900..=1100).contains(&packets), "{packets} of {count} by spine {spine}");
    }
}

#[test]
fn a_path_leads_from_host_to_host_over_the_fewest_links() {
    let graph = fat_tree(4, LINK, LINK).unwrap();
    let mut fabric = fabric(&graph);
    for (to, links) in [(0, 1), (1, 2), (2, 4), (15, 6)] {
        for hash in 0..50 {
            let way = fabric.route(NodeId(0), NodeId(to), hash).unwrap();
            let ends: Vec<_> = fabric.path(way).into_iter().map(|port| fabric.ends(port)).collect();
            assert_eq!(ends.len(), links, "to host {to}");
            assert_eq!((ends[0].0, ends[links - 1].1), (NodeId(0), NodeId(to)));
            assert!(ends.windows(2).all(|pair| pair[0].1 == pair[1].0), "{ends:?}");
        }
    }
}

#[test]
fn fat_tree_ways_have_the_papers_lengths() {
    let graph = fat_tree(4, LINK, LINK).unwrap();
    // Same edge 2 links, same pod 4, other pod 6.
    for (to, links) in [(1, 2), (2, 4), (15, 6)] {
        let mut lab = Lab::new(fabric(&graph));
        let load = Load { at: Time::ZERO, from: 0, to, bytes: 1462, class: 0, ecn: Ecn::NotEct };
        lab.play(&[load]);
        assert_eq!(lab.delivered[0].0.as_ps(), links * (1500 * 800 + 1_000_000), "to host {to}");
    }
}

#[test]
fn packets_in_the_network_go_around_a_link_that_went_down() {
    let graph = leaf_spine(&[1, 1], 2, 1, LINK, LINK).unwrap();
    let mut lab = Lab::new(fabric(&graph));
    let load = Load { at: Time::ZERO, from: 0, to: 1, bytes: 1500, class: 0, ecn: Ecn::NotEct };
    for number in 0..20 {
        lab.send(number, load);
    }
    lab.run(Time::from_us(3));
    let up = [0, 1].map(|spine| port(&graph, &lab.fabric, "leaf0", &format!("spine{spine}")));
    let used = up.into_iter().find(|up| lab.fabric.counters(lab.now, *up).sent_packets > 0).unwrap();
    lab.fabric.take_down(lab.now, used, &mut lab.log);
    lab.run(Time::from_secs(1));
    assert!(lab.delivered.len() >= 17, "{} of 20", lab.delivered.len());
    assert_eq!(lab.delivered.len() + lab.log.discarded.len(), 20);
}

#[test]
fn hosts_never_forward() {
    // host0 – switch – host1 – switch – host2: host1 is the only joint.
    let link = |a, b| Link { a: NodeId(a), b: NodeId(b), ab: LINK, ba: LINK };
    let names = |prefix: &str, n| (0..n).map(|i| format!("{prefix}{i}")).collect();
    let links = vec![link(0, 3), link(1, 3), link(1, 4), link(2, 4)];
    let graph = Graph::new(names("host", 3), names("switch", 2), links).unwrap();
    let mut fabric = fabric(&graph);
    assert!(fabric.route(NodeId(0), NodeId(1), 9).is_some());
    assert!(fabric.route(NodeId(2), NodeId(1), 9).is_some());
    assert!(fabric.route(NodeId(0), NodeId(2), 9).is_none());
}

#[test]
fn two_hosts_may_be_joined_directly() {
    let names = vec!["a".to_owned(), "b".to_owned()];
    let link = Link { a: NodeId(0), b: NodeId(1), ab: LINK, ba: LINK };
    let graph = Graph::new(names, Vec::new(), vec![link]).unwrap();
    let mut lab = Lab::new(fabric(&graph));
    lab.play(&[Load { at: Time::ZERO, from: 0, to: 1, bytes: 1462, class: 0, ecn: Ecn::NotEct }]);
    assert_eq!(lab.delivered[0].0.as_ps(), 1500 * 800 + 1_000_000);
}

#[test]
fn equal_paths_are_the_ports_among_which_flows_choose() {
    let mut leaf_spine = fabric(&leaf_spine(&[2, 2, 2], 4, 1, LINK, LINK).unwrap());
    let groups = leaf_spine.equal_paths();
    assert_eq!(groups.len(), 3, "spines have one way down");
    assert!(groups.iter().all(|group| (group.ports.len(), group.destinations) == (4, 4)));

    let graph = fat_tree(4, LINK, LINK).unwrap();
    let mut fabric = fabric(&graph);
    let groups = fabric.equal_paths();
    // Edge switches choose for all but their own two hosts, aggregation for all but those of their pod.
    let of = |name: &str| groups.iter().filter(|group| graph.name(group.node).starts_with(name)).count();
    assert_eq!((groups.len(), of("edge"), of("agg")), (16, 8, 8));
    let reached: Vec<u32> = groups.iter().map(|group| group.destinations).collect();
    assert_eq!(reached.iter().filter(|count| **count == 14).count(), 8);
    assert_eq!(reached.iter().filter(|count| **count == 12).count(), 8);
    for hash in 0..200 {
        let way = fabric.route(NodeId(0), NodeId(15), hash).unwrap();
        let path = fabric.path(way);
        for port in &path[1..3] {
            let group = groups.iter().find(|group| group.node == fabric.ends(*port).0).unwrap();
            assert!(group.ports.contains(port));
        }
    }
}
