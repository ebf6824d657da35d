//! The fabric: all ports of a topology, and what happens to a packet at each.

use crate::aal5::CELL;
use crate::atm::configure_cells;
use crate::buffer::Pool;
use crate::classes::Classes;
use crate::config::{Buffer, Depth, Framing, PfcConfig, Queue, Scheduler, SwitchConfig};
use crate::counters::{Counters, Sample};
use crate::discipline::{Discipline, Place};
use crate::fifo::Entered;
use crate::packet::{Discard, Packet};
use crate::pause::{PAUSE_FRAME, Pausing};
use crate::pfc::Pfc;
use crate::port::{Port, PortId, flag};
use crate::routing::{Route, Routing};
use crate::topology::{Graph, LinkProps, NodeId};
use crate::voq::Voqs;
use crate::waits::WaitTimes;
use crate::wires::Wires;
use units::{Bytes, Rate, Time};

/// What a port wants to be called back for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortEvent {
    /// Call [`Fabric::transmit`]: the transmitter is free.
    Transmit(PortId),
    /// Call [`Fabric::arrive`]: a packet reaches the far end.
    Arrive(PortId),
    /// Call [`Fabric::timer`]: a pause may end or has to be renewed, or a watchdog looks.
    Timer(PortId),
    /// There is the room that [`Fabric::await_room`] asked for.
    Room(PortId),
}

/// What the fabric needs of whoever drives it.
pub trait Driver<B> {
    /// Call back at `at`. A port has at most one live event to arrive or transmit; a stale one does no harm.
    fn schedule(&mut self, at: Time, event: PortEvent);
    /// `packet` is gone.
    fn discard(&mut self, now: Time, port: PortId, packet: &Packet<B>, reason: Discard);
    /// `packet` leaves by a captured port at `start`, which may lie ahead.
    fn sent(&mut self, start: Time, port: PortId, packet: &Packet<B>);
    /// The PFC watchdog has found a storm of PAUSE frames at `port`, or that it is over.
    fn storm(&mut self, _now: Time, _port: PortId, _class: u8, _begins: bool) {}
}

/// A packet that has come to its host. It keeps its memory until it is [collected](Fabric::collect).
#[must_use]
#[derive(Debug)]
pub struct Delivery(u32);

/// The network.
pub struct Fabric<B> {
    pub(crate) ports: Vec<Port<B>>,
    pub(crate) wires: Wires<B>,
    pub(crate) pools: Vec<Pool>,
    /// Switches with PFC.
    pub(crate) pfcs: Vec<Pfc>,
    pub(crate) routing: Routing,
    pub(crate) framing: Framing,
    hosts: u32,
}

/// A host's traffic to itself: not a link of the topology.
const LOOPBACK: LinkProps = LinkProps { rate: Rate::from_gbps(100), delay: Time::from_us(5), mtu: 65_535 };

impl<B: Copy + Default> Fabric<B> {
    /// A network of `graph`; `switch` tells each switch's settings, `seed` splits equal-cost routes and RED's draws.
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
            routing: Routing::new(graph, first, peers, reverse, seed),
            framing,
            hosts: graph.hosts() as u32,
        }
    }

    /// A packet reaches the far end of `id` at `now`, unless the link has changed since that was scheduled. It goes on
    /// to its next queue, or is the answer: that is its host, which is to [collect](Fabric::collect) it.
    #[inline(always)]
    pub fn arrive<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) -> Option<Delivery> {
        let (ports, wires) = (self.ports.as_mut_slice(), self.wires.slots.as_mut_slice());
        let port = &mut ports[id.index()];
        let slot = port.first;
        let wire = wires.get(slot as usize).filter(|wire| wire.arrive == now)?;
        if port.waiting == slot {
            // Nobody has looked since its sending began.
            port.leave_queue(wire);
        }
        port.first = wire.next;
        if let Some(next) = wires.get(wire.next as usize) {
            driver.schedule(next.arrive, PortEvent::Arrive(id));
        }
        let flags = port.flags;
        if flags & (flag::FAULTY | flag::TO_HOST | flag::PAUSES) != 0 {
            return self.arrive_unusual(now, id, slot, driver);
        }
        let packet = &mut wires[slot as usize].packet;
        let (next, route) = self.routing.next(packet.route);
        packet.route = route;
        let entered = ports[next.index()].enter(wires, self.framing, now, next, slot, driver);
        if entered != Entered::Queued {
            self.enter_other(now, id, next, slot, entered, driver);
        }
        None
    }

    /// A packet arrives at its host, or over a link on which not all get through.
    #[inline(always)]
    fn arrive_unusual<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        slot: u32,
        driver: &mut D,
    ) -> Option<Delivery> {
        let flags = self.ports[id.index()].flags;
        if flags & (flag::FAULTY | flag::PAUSES) != 0 && self.is_taken(now, id, slot, driver) {
            return None;
        }
        if flags & flag::TO_HOST != 0 {
            return Some(Delivery(slot));
        }
        self.go_on(now, id, slot, driver);
        None
    }

    /// A packet that has come by `id` goes on to its next queue.
    #[inline(never)]
    fn go_on<D: Driver<B>>(&mut self, now: Time, id: PortId, slot: u32, driver: &mut D) {
        let mut packet = *self.wires.take(slot);
        let (next, route) = self.routing.next(packet.route);
        packet.route = route;
        self.enqueue(now, id, next, &packet, driver);
    }

    /// Takes a packet that was delivered out of the network.
    #[inline(always)]
    pub fn collect(&mut self, delivery: Delivery) -> &Packet<B> {
        self.wires.take(delivery.0)
    }

    /// Whether a packet that has come over the link of `id` gets no further: hit by a fault, or a PAUSE frame.
    #[inline(never)]
    fn is_taken<D: Driver<B>>(&mut self, now: Time, id: PortId, slot: u32, driver: &mut D) -> bool {
        let packet = self.wires[slot].packet;
        let lost = self.ports[id.index()].is(flag::FAULTY) && self.hit_by_fault(now, id, &packet, driver);
        let pause = !lost && packet.class == PAUSE_FRAME;
        if pause {
            self.receive_pause(now, id, &packet, driver);
        }
        if lost || pause {
            self.wires.take(slot);
        }
        lost || pause
    }

    /// The hash of a five-tuple that chooses among equal-cost routes; hosts go into it by name.
    pub fn flow_hash(&self, from: NodeId, to: NodeId, from_port: u16, to_port: u16, protocol: u8) -> u16 {
        self.routing.flow_hash(from, to, from_port, to_port, protocol)
    }

    /// The route of a flow, if there is one: the port that its packets enter first, and what they carry.
    pub fn route(&mut self, from: NodeId, to: NodeId, hash: u16) -> Option<(PortId, Route)> {
        let route = self.routing.route(from, to, hash)?;
        Some(self.routing.next(route))
    }

    /// The ports that a packet of a flow with that route crosses, in order.
    pub fn path(&self, (mut port, mut route): (PortId, Route)) -> Vec<PortId> {
        let mut path = vec![port];
        while !self.ports[port.index()].is(flag::TO_HOST) {
            (port, route) = self.routing.next(route);
            path.push(port);
        }
        path
    }

    /// How long a packet that enters `id` at `now` would wait for those before it (first-in first-out ports).
    #[inline]
    pub fn backlog(&self, now: Time, id: PortId) -> Time {
        self.ports[id.index()].free_at.saturating_sub(now)
    }

    #[cold]
    pub(crate) fn discard<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        packet: &Packet<B>,
        reason: Discard,
        driver: &mut D,
    ) {
        if packet.class == PAUSE_FRAME {
            return; // Nobody's packet: a pause that gets lost shows in what is received.
        }
        self.ports[id.index()].discard(reason);
        driver.discard(now, id, packet, reason);
    }

    /// All ports of the topology's links; a host's loopback is not among them.
    pub fn ports(&self) -> impl Iterator<Item = PortId> {
        let real = |(_, port): &(usize, &Port<B>)| port.cold.owner != port.cold.peer;
        self.ports.iter().enumerate().filter(real).map(|(index, _)| PortId(index as u32))
    }

    /// The node whose port it is, and the node at the far end.
    pub fn ends(&self, id: PortId) -> (NodeId, NodeId) {
        let cold = &self.ports[id.index()].cold;
        (cold.owner, cold.peer)
    }

    /// The port of the other direction.
    pub fn reverse(&self, id: PortId) -> PortId {
        self.ports[id.index()].cold.reverse
    }

    /// The link's rate at present.
    pub fn rate(&self, id: PortId) -> Rate {
        self.ports[id.index()].cold.rate
    }

    /// The largest IP packet that fits.
    pub fn mtu(&self, id: PortId) -> u32 {
        self.ports[id.index()].cold.mtu
    }

    /// Totals since the start.
    pub fn counters(&mut self, now: Time, id: PortId) -> Counters {
        let (cells, late) = (self.cell_totals(now, id), self.late_cells(now, id));
        let port = &mut self.ports[id.index()];
        if !port.is(flag::SCHEDULED) {
            port.start_beside_fluid(&self.wires.slots, now);
        }
        let mut counters = port.counters();
        counters.cells = cells;
        counters.sent_packets -= late.0;
        counters.sent_bytes -= late.1;
        if !port.is(flag::FLUID) {
            // What is still to be sent of the packet in hand, and of those that wait where departures are certain.
            counters.busy = counters.busy.saturating_sub(port.free_at.saturating_sub(now));
        }
        if port.is(flag::FLUID) {
            let fluid = port.fluid_at(now, self.framing, &self.wires.slots, &mut self.pools);
            counters.fluid = fluid.totals;
            counters.busy += fluid.busy;
        }
        counters
    }

    /// The state at `now`.
    pub fn sample(&mut self, now: Time, id: PortId) -> Sample {
        let late = self.late_cells(now, id);
        let port = &mut self.ports[id.index()];
        if !port.is(flag::SCHEDULED) {
            port.start_beside_fluid(&self.wires.slots, now);
        }
        let mut sample = port.sample(now);
        sample.sent_bytes -= late.1;
        if port.is(flag::FLUID) {
            sample.queue_bytes += port.fluid_at(now, self.framing, &self.wires.slots, &mut self.pools).bytes;
        }
        if let Some(cells) = &mut port.cold.cells {
            sample.queue_bytes = cells.waiting(now) * u64::from(CELL);
        }
        sample
    }

    /// When the sending of each packet begins that waits in the first-in first-out queue of `id`.
    pub fn starts(&self, id: PortId) -> Vec<Time> {
        let port = &self.ports[id.index()];
        let mut start = port.due;
        let waiting = self.wires.chain(port.waiting);
        waiting.map(|slot| std::mem::replace(&mut start, self.wires[slot].next_start)).collect()
    }

    /// How long packets have waited in the queue of `id`; those that are still to wait count too.
    pub fn waits(&mut self, id: PortId) -> WaitTimes<'_> {
        self.ports[id.index()].waits()
    }

    /// Packets on the wire or in the queue of `id`: enqueued, not yet at the far end.
    pub fn in_transit(&self, id: PortId) -> u64 {
        let port = &self.ports[id.index()];
        let waiting = if port.is(flag::SCHEDULED) { port.waiting_packets } else { 0 };
        self.wires.chain(port.first).count() as u64 + u64::from(waiting)
    }

    /// Memory that the packets waiting for `id` take in a buffer that ports share, in whole cells.
    pub fn memory_held(&self, id: PortId) -> u64 {
        self.ports[id.index()].cold.classes.as_deref().map_or(0, Classes::held)
    }

    /// Memory in use beyond the reserves in all shared buffers of the network.
    pub fn shared_memory_used(&self) -> u64 {
        self.pools.iter().map(Pool::used).sum()
    }

    /// Shows the driver every packet that leaves by `id` from now on.
    pub fn capture(&mut self, id: PortId) {
        self.ports[id.index()].flags |= flag::CAPTURE;
    }

    /// Limits the queue of a host's port, which otherwise has none.
    pub fn limit_queue(&mut self, id: PortId, limit: Depth) {
        self.ports[id.index()].limit(limit.limits());
    }

    /// Ports of `node`; for a host the first is its NIC.
    pub fn ports_of(&self, node: NodeId) -> impl Iterator<Item = PortId> + use<B> {
        self.routing.ports(node)
    }

    /// Prepares ports for hosts that send IP packets of up to `bytes`: narrower links check each packet.
    pub fn expect_packets_of(&mut self, bytes: u32) {
        for port in &mut self.ports {
            if port.cold.mtu < bytes {
                port.flags |= flag::NARROW;
            }
        }
    }

    pub(crate) fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
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
    sys::memory::prefer_huge_pages(&mut ports);
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
    let (strict, weights, count) = match config.scheduler {
        Scheduler::Fifo => (0, [1; 8], 1),
        Scheduler::Ets { strict, weights } => (strict, weights, 8),
    };
    let pool = match config.buffer {
        Buffer::Static(_) | Buffer::Cells(_) => None,
        Buffer::Shared { size, alpha, reserve, cell } => {
            let headroom = config.pfc.as_ref().map(|pfc| pfc.headroom_total(ports.len() as u32));
            let size = Bytes::new(size.get().saturating_sub(headroom.unwrap_or_default().get()));
            pools.push(Pool::new(size, alpha, reserve, cell, (ports.len() * count) as u64));
            Some(pools.len() as u32 - 1)
        }
        Buffer::Voq { size, alpha, reserve, cell, processors, .. } => {
            let entries = processors.map_or(ports.len(), |processors| ports.len().min(processors as usize));
            pools.push(Pool::new(size, alpha, reserve, cell, (entries * ports.len() * count) as u64));
            Some(pools.len() as u32 - 1)
        }
    };
    let total = ports.len();
    let delays = config.queues[..count].iter().any(|queue| matches!(queue, Queue::Codel(_)));
    for (index, port) in ports.iter_mut().enumerate() {
        if let Buffer::Static(limit) = config.buffer {
            port.limit(limit.limits());
        }
        let typical = port.cold.rate.time_for(Bytes::new(u64::from(framing.wire_bytes(1500))));
        let seed = seed ^ ((index as u64) << 8);
        let place = Place { typical, mtu: port.cold.mtu, seed };
        let discipline = |class: usize| {
            Discipline::new(config.queues[class], Place { seed: seed ^ class as u64, ..place })
        };
        if pool.is_some() || count > 1 || delays {
            port.flags |= flag::SCHEDULED;
            if delays {
                port.flags |= flag::LEAVING;
            }
            let cap = if let Buffer::Voq { cap, .. } = config.buffer { cap.get() } else { u64::MAX };
            let largest = pool.map_or(0, |pool| pools[pool as usize].largest());
            if count == 1 && cap >= largest && !matches!(config.queues[0], Queue::Red(_)) {
                port.flags |= flag::OPEN;
            }
            let mut classes = Classes::new((0..count).map(discipline).collect(), strict, weights, pool);
            if let Buffer::Voq { cap, processors, .. } = config.buffer {
                port.flags |= flag::VOQ;
                let sharing = processors.map_or(1, |processors| total.div_ceil(processors as usize).max(1));
                classes.voqs = Some(Box::new(Voqs::new(first, sharing, cap, config.queues, place)));
            }
            port.cold.classes = Some(Box::new(classes));
            continue;
        }
        match config.queues[0] {
            Queue::TailDrop | Queue::Codel(_) => {}
            Queue::Step(threshold) => port.mark_above(threshold.limits()),
            Queue::Red(_) => {
                port.flags |= flag::RED;
                port.cold.discipline = discipline(0);
            }
        }
    }
}
