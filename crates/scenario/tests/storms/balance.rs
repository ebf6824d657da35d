//! Packets are neither lost nor made, at any link and at any node.

use crate::losses::Losses;
use crate::run::{Run, Seen};
use crate::tally;
use fabric::{Discard, Graph, NodeId, PortId};
use scenario::Scenario;
use sim::{PacketSeen, Sim};
use std::collections::BTreeMap;
use units::Time;

/// What counters and captures say agrees, and balances at every node.
pub fn conserved(run: &mut Run, packets: &[PacketSeen]) {
    let settled = run.settled;
    let sim = &mut run.sim;
    let now = sim.progress().now;
    let ports: Vec<PortId> = sim.network().ports().collect();
    let (mut left, mut lost) = (BTreeMap::new(), BTreeMap::new());
    for packet in packets {
        let what = packet.discard.map(|(reason, _)| reason);
        match what {
            None => *left.entry(packet.port).or_insert(0) += 1,
            Some(reason) => *lost.entry((packet.port, reason)).or_insert(0) += 1,
        }
    }
    let graph = sim.graph().clone();
    for &port in &ports {
        let counters = sim.network().counters(now, port);
        // Each packet's time on the wire is whole picoseconds.
        let room = Time::from_ps(counters.enqueued_packets + counters.abandoned_packets + 1);
        assert!(counters.busy <= now + room, "{counters:?} by {now}");
        assert!(counters.sent_packets <= counters.enqueued_packets);
        let waits = sim.network().waits(port).buckets().map(|(.., packets)| packets).sum::<u64>();
        assert_eq!(waits, counters.enqueued_packets, "each packet waited once");
        assert!(counters.abandoned_packets <= counters.discards.of(Discard::Down));
        assert_eq!(
            left.get(&port).copied().unwrap_or(0),
            counters.sent_packets,
            "captured at {} to {}",
            graph.name(sim.network().ends(port).0),
            graph.name(sim.network().ends(port).1)
        );
        for reason in tally::REASONS {
            let captured = lost.get(&(port, reason)).copied().unwrap_or(0);
            assert_eq!(captured, counters.discards.of(reason), "captured at {port:?}: {reason:?}");
        }
    }
    for node in graph.hosts()..graph.nodes() {
        at_switch(sim, &graph, NodeId(node as u32), &ports, now);
    }
    for host in 0..graph.hosts() as u32 {
        at_host(sim, host, &ports, settled);
    }
}

/// Packets that came to a switch have been discarded there, have left it, or wait in it.
fn at_switch(sim: &mut Sim, graph: &Graph, node: NodeId, ports: &[PortId], now: Time) {
    let came = came_to(sim, node, ports);
    let network = sim.network();
    let own: Vec<PortId> = ports.iter().copied().filter(|port| network.ends(*port).0 == node).collect();
    let mut gone = 0;
    for port in own {
        let from = network.counters(now, port);
        let on_link = from.discards.of(Discard::Lost) + from.discards.of(Discard::Down);
        gone += from.enqueued_packets + from.abandoned_packets + from.discards.total() - on_link;
    }
    assert_eq!(came, gone, "packets at {}", graph.name(node));
}

/// Packets that have crossed the links to `node`, damaged ones included.
fn came_to(sim: &mut Sim, node: NodeId, ports: &[PortId]) -> u64 {
    let now = sim.progress().now;
    let network = sim.network();
    let inbound: Vec<PortId> = ports.iter().copied().filter(|port| network.ends(*port).1 == node).collect();
    let crossed = |port: &PortId| {
        let link = network.counters(now, *port);
        let cut = link.discards.of(Discard::Down) - link.abandoned_packets;
        link.enqueued_packets - network.in_transit(*port) - link.discards.of(Discard::Lost) - cut
    };
    inbound.iter().map(crossed).sum()
}

/// Packets that came to a host, from itself too, were damaged, or were taken, or found it down; or they wait
/// for a core. It loses nothing that it sends to itself.
fn at_host(sim: &mut Sim, host: u32, ports: &[PortId], settled: bool) {
    let (node, now, record) = (NodeId(host), sim.progress().now, sim.host_record(host));
    let loopback = sim.network().loopback(node);
    let ports = [ports, &[loopback]].concat();
    let came = came_to(sim, node, &ports);
    let network = sim.network();
    assert_eq!(network.counters(now, loopback).discards.total(), 0, "lost by host {host} on its loopback");
    let own = ports.iter().filter(|port| network.ends(**port).0 == node).copied().collect::<Vec<PortId>>();
    let damaged = |port: &PortId| network.counters(now, *port).discards.of(Discard::Corrupt);
    let known = own.iter().map(damaged).sum::<u64>() + record.received_packets + record.drops.down;
    assert!(known <= came, "{known} of {came} packets at host {host}");
    assert!(!settled || known == came, "{known} of {came} packets at host {host}");
}

/// A datagram that was sent has arrived, or a host or a port has counted why not. A host has sent what its
/// flows say that it has.
pub fn hosts_account_for(seen: &Seen, losses: &Losses) {
    let mut left = BTreeMap::new();
    for ((_, from, to), pair) in &seen.datagrams {
        let own = pair.drops.no_route + pair.drops.down + pair.drops.no_port;
        let gone = pair.received + own;
        assert!(gone <= pair.sent, "{from} to {to}: {pair:?}");
        *left.entry((from.clone(), to.clone())).or_insert(0) += pair.sent - gone;
    }
    for (pair, left) in left {
        let lost = losses.datagrams.get(&pair).copied().unwrap_or_default();
        assert!(lost <= left, "{pair:?}: {lost} of {left}");
        assert!(!seen.settled || lost == left, "{pair:?}: {lost} of {left} were counted");
    }
    // A loopback is not captured.
    for flow in seen.flows.iter().filter(|flow| seen.settled && flow.from.0 != flow.to.0) {
        let own = losses.of_flow(flow);
        let most = own.sent + own.at_home + seen.no_route(flow);
        assert!((own.sent..=most).contains(&flow.sent_packets), "{own:?} {flow:?}");
    }
}

/// No packet of a class that PFC protects has found a switch full.
pub fn no_room_is_lost_for(scenario: &Scenario, sim: &mut Sim, packets: &[PacketSeen]) {
    let pfc = scenario.switches[0].config.pfc.as_ref().expect("PFC");
    let hosts = sim.graph().hosts() as u32;
    let network = sim.network();
    // A paused host queues datagrams up to a limit of its own.
    let is_of_switch = |packet: &&PacketSeen| network.ends(packet.port).0.0 >= hosts;
    for packet in packets.iter().filter(|packet| pfc.classes & (1 << packet.class) != 0).filter(is_of_switch)
    {
        let full = [Discard::Tail, Discard::Pool, Discard::Headroom];
        let lost = packet.discard.is_some_and(|(reason, _)| full.contains(&reason));
        assert!(!lost, "lost in a lossless class: {packet:?}");
    }
}
