//! A new network: the ports of a graph, set up as their switches' settings say.

use crate::atm::configure_cells;
use crate::buffer::Pool;
use crate::classes::Classes;
use crate::config::{Buffer, Framing, PfcConfig, Queue, Scheduler, SwitchConfig};
use crate::discipline::{Discipline, Place};
use crate::fabric::Fabric;
use crate::ids::{NodeId, PortId};
use crate::pause::Pausing;
use crate::pfc::Pfc;
use crate::port::{Port, flag};
use crate::routing::Routing;
use crate::topology::{Graph, LinkProps};
use crate::voq::Voqs;
use crate::wires::Wires;
use units::{Bytes, Rate, Time};

/// A host's traffic to itself: not a link of the topology.
const LOOPBACK: LinkProps = LinkProps { rate: Rate::from_gbps(100), delay: Time::from_us(5), mtu: 65_535 };

impl<B: Copy + Default> Fabric<B> {
    /// A network of `graph`; `switch` tells each switch's settings, `seed` splits equal-cost routes and RED's
    /// draws.
    pub fn new(
        graph: &Graph,
        framing: Framing,
        seed: u64,
        switch: impl Fn(NodeId) -> SwitchConfig,
    ) -> Fabric<B> {
        let (mut ports, first) = ports(graph);
        let (mut pools, mut pfcs) = (Vec::new(), Vec::new());
        for node in graph.hosts()..graph.nodes() {
            let range = first[node] as usize..first[node + 1] as usize;
            let config = switch(NodeId(node as u32));
            if let Buffer::Cells(cells) = config.buffer {
                configure_cells(cells, &mut ports, range, seed ^ ((node as u64) << 32));
                continue;
            }
            configure(
                &config,
                &mut ports[range],
                framing,
                seed ^ ((node as u64) << 32),
                &mut pools,
                first[node],
            );
            if let Some(config) = config.pfc {
                let (begin, count) = (first[node], first[node + 1] - first[node]);
                let pool = pools.len().checked_sub(1).expect("PFC needs a shared buffer") as u32;
                configure_pfc(&config, &mut ports, begin..begin + count, pfcs.len() as u32);
                pfcs.push(Pfc::new(config, pool, begin, count));
            }
        }
        let peers = ports.iter().map(|port| port.cold.peer).collect();
        let reverse = ports.iter().map(|port| port.cold.reverse).collect();
        Fabric {
            wires: Wires::new(ports.len()),
            ports,
            pools,
            pfcs,
            causes: None,
            routing: Routing::new(graph, first, peers, reverse, seed),
            framing,
            hosts: graph.hosts() as u32,
        }
    }
}

/// Ports in order of their nodes, each host's loopback last of its own; and where each node's begin.
fn ports<B: Copy + Default>(graph: &Graph) -> (Vec<Port<B>>, Vec<u32>) {
    let mut degree = vec![0u32; graph.nodes() + 1];
    for link in graph.links() {
        degree[link.a.0 as usize] += 1;
        degree[link.b.0 as usize] += 1;
    }
    let mut first = Vec::with_capacity(graph.nodes() + 1);
    let mut total = 0;
    for (node, degree) in degree.iter().enumerate() {
        first.push(total);
        total += degree + u32::from(node < graph.hosts());
    }
    let mut ends = vec![None; total as usize];
    let mut next = first.clone();
    let mut place = |node: NodeId| {
        next[node.0 as usize] += 1;
        PortId(next[node.0 as usize] - 1)
    };
    for link in graph.links() {
        let (a, b) = (place(link.a), place(link.b));
        ends[a.index()] = Some((link.a, link.b, b, link.ab));
        ends[b.index()] = Some((link.b, link.a, a, link.ba));
    }
    for host in 0..graph.hosts() as u32 {
        let (host, port) = (NodeId(host), place(NodeId(host)));
        ends[port.index()] = Some((host, host, port, LOOPBACK));
    }
    let make = |end: Option<(NodeId, NodeId, PortId, LinkProps)>| {
        let (owner, peer, reverse, props) = end.expect("every port has its ends");
        let mut port = Port::new(owner, peer, reverse, props);
        if graph.is_host(peer) {
            port.flags |= flag::TO_HOST;
        }
        port
    };
    let mut ports = ends.into_iter().map(make).collect();
    mem::prefer_huge_pages(&mut ports);
    (ports, first)
}

/// Sets up PFC on the ports of one switch, and of the hosts that hang on it: they keep pauses.
fn configure_pfc<B: Copy + Default>(
    config: &PfcConfig,
    ports: &mut [Port<B>],
    range: std::ops::Range<u32>,
    index: u32,
) {
    for id in range {
        let port = &mut ports[id as usize];
        port.flags |= flag::PAUSES;
        port.cold.pausing = Some(Box::new(Pausing::new(config.classes, config.quanta)));
        port.cold.classes.as_mut().expect("PFC needs queues a class").pfc = Some(index);
        if port.is(flag::TO_HOST) {
            let nic = port.cold.reverse;
            let nic = &mut ports[nic.index()];
            let mut classes = Classes::new(vec![Discipline::Tail; 8], 0, [1; 8], None);
            classes.own_limits = true;
            nic.flags |= flag::PAUSES | flag::SCHEDULED;
            nic.cold.pausing = Some(Box::new(Pausing::new(config.classes, u16::MAX)));
            nic.cold.classes = Some(Box::new(classes));
        }
    }
}

/// Sets up the ports of one switch.
fn configure<B: Copy + Default>(
    config: &SwitchConfig,
    ports: &mut [Port<B>],
    framing: Framing,
    seed: u64,
    pools: &mut Vec<Pool>,
    first: u32,
) {
    let (strict, weights) = match config.scheduler {
        Scheduler::Fifo {} => (0, [1; 8]),
        Scheduler::Ets { strict, weights } => (strict, weights),
    };
    let (count, all) = (config.scheduler.classes(), config.queues());
    let pool = match (config.buffer, config.buffer.pool(ports.len() as u64, count as u64)) {
        (Buffer::Shared { alpha, cell, .. } | Buffer::Voq { alpha, cell, .. }, Some((size, reserve))) => {
            let headroom = config.pfc.as_ref().map(|pfc| pfc.headroom_total(ports.len() as u32));
            let size = Bytes::new(size.get().saturating_sub(headroom.unwrap_or_default().get()));
            let queues = config.buffer.queues(ports.len() as u64, count as u64);
            pools.push(Pool::new(size, alpha, reserve, cell, queues));
            Some(pools.len() as u32 - 1)
        }
        _ => None,
    };
    let total = ports.len();
    let delays = all[..count].iter().any(|queue| matches!(queue, Queue::Codel(_)));
    for (index, port) in ports.iter_mut().enumerate() {
        if let Buffer::Static { limit } = config.buffer {
            port.limit(limit.limits());
        }
        let typical = port.cold.rate.time_for(Bytes::new(u64::from(framing.wire_bytes(1500))));
        let seed = seed ^ ((index as u64) << 8);
        let place = Place { typical, mtu: port.cold.mtu, seed };
        let discipline =
            |class: usize| Discipline::new(all[class], Place { seed: seed ^ class as u64, ..place });
        if pool.is_some() || count > 1 || delays {
            port.flags |= flag::SCHEDULED;
            if delays {
                port.flags |= flag::LEAVING;
            }
            let cap = if let Buffer::Voq { cap, .. } = config.buffer { cap.get() } else { u64::MAX };
            let largest = pool.map_or(0, |pool| pools[pool as usize].largest());
            if count == 1 && cap >= largest && !matches!(all[0], Queue::Red(_)) {
                port.flags |= flag::OPEN;
            }
            let mut classes = Classes::new((0..count).map(discipline).collect(), strict, weights, pool);
            if let Buffer::Voq { cap, processors, .. } = config.buffer {
                port.flags |= flag::VOQ;
                let sharing = processors.map_or(1, |processors| total.div_ceil(processors as usize).max(1));
                classes.voqs = Some(Box::new(Voqs::new(first, sharing, cap, all, place)));
            }
            port.cold.classes = Some(Box::new(classes));
            continue;
        }
        match all[0] {
            Queue::TailDrop {} | Queue::Codel(_) => {}
            Queue::Step { threshold } => port.mark_above(threshold.limits()),
            Queue::Red(_) => {
                port.flags |= flag::RED;
                port.cold.discipline = discipline(0);
            }
        }
    }
}
