//! The fabric: all ports of a topology, and what happens to a packet at each.

use crate::aal5::CELL;
use crate::buffer::Pool;
use crate::classes::Classes;
use crate::config::{Depth, Framing};
use crate::counters::{Counters, Sample};
use crate::driver::{Delivery, Driver, PortEvent};
use crate::fifo::Entered;
use crate::ids::{NodeId, PortId, Route};
use crate::packet::{Discard, Packet};
use crate::pause::{Causes, PAUSE_FRAME};
use crate::pfc::Pfc;
use crate::port::{Port, flag};
use crate::routing::{EqualPaths, Routing};
use crate::waits::WaitTimes;
use crate::wires::Wires;
use units::{Bytes, Rate, Time};

/// The network.
pub struct Fabric<B> {
    pub(crate) ports: Vec<Port<B>>,
    pub(crate) wires: Wires<B>,
    pub(crate) pools: Vec<Pool>,
    /// Switches with PFC.
    pub(crate) pfcs: Vec<Pfc>,
    /// Why there are pauses, where that is asked for.
    pub(crate) causes: Option<Box<Causes>>,
    pub(crate) routing: Routing,
    pub(crate) framing: Framing,
    pub(crate) hosts: u32,
}

impl<B: Copy + Default> Fabric<B> {
    /// A packet reaches the far end of `id` at `now`, unless the link has changed since that was scheduled.
    /// It goes on to its next queue, or is the answer: that is its host, which is to
    /// [collect](Fabric::collect) it.
    #[inline(always)]
    pub fn arrive<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) -> Option<Delivery> {
        let (ports, wires) = (self.ports.as_mut_slice(), self.wires.slots.as_mut_slice());
        let port = &mut ports[id.index()];
        let slot = port.first;
        let Some(wire) = wires.get(slot as usize).filter(|wire| wire.arrive == now) else {
            driver.stale(now, id);
            return None;
        };
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

    /// Whether a packet that has come over the link of `id` gets no further: hit by a fault, or a PAUSE
    /// frame.
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

    /// Every set of ports among which ECMP chooses, with the links that are up now.
    pub fn equal_paths(&mut self) -> Vec<EqualPaths> {
        self.routing.equal_paths()
    }

    /// How long a packet that enters `id` at `now` would wait for those before it (first-in first-out ports).
    #[inline]
    pub fn backlog(&self, now: Time, id: PortId) -> Time {
        self.ports[id.index()].free_at.saturating_sub(now)
    }

    /// Discards `packet` at `id` and counts it there.
    #[cold]
    pub fn discard<D: Driver<B>>(
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
        // Packets are counted on the wire when it is certain when they will leave.
        let ahead = if port.is(flag::SCHEDULED) || cells.is_some() { 0 } else { self.waiting_on_wire(id) };
        let port = &mut self.ports[id.index()];
        let mut counters = port.counters();
        counters.wire_bytes -= ahead;
        counters.cells = cells;
        counters.sent_packets -= late.0;
        counters.sent_bytes -= late.1;
        if let Some(queue) = &mut port.cold.cells {
            let waiting = queue.waiting(now) * u64::from(CELL);
            counters.wire_bytes -= waiting;
            counters.busy = counters.busy.saturating_sub(port.cold.rate.time_for(Bytes::new(waiting)));
        }
        if !port.is(flag::FLUID) {
            // What is still to be sent of the packet in hand, and of those that wait where departures are
            // certain.
            counters.busy = counters.busy.saturating_sub(port.free_at.saturating_sub(now));
        }
        if port.is(flag::FLUID) {
            let fluid = port.fluid_at(now, self.framing, &self.wires.slots, &mut self.pools);
            counters.fluid = fluid.totals;
            counters.busy = (counters.busy + fluid.busy).saturating_sub(fluid.left);
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
            sample.queue_max_bytes = sample.queue_max_bytes.max(sample.queue_bytes);
        }
        if let Some(cells) = &mut port.cold.cells {
            let longest = cells.longest(now);
            sample.queue_bytes = longest.bytes * u64::from(CELL);
            sample.queue_max_bytes = longest.recent_max * u64::from(CELL);
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

    /// Packets on the wire or in the queue of `id`: enqueued, not yet at the far end. PAUSE frames are not
    /// among them.
    pub fn in_transit(&self, id: PortId) -> u64 {
        let port = &self.ports[id.index()];
        let waiting = if port.is(flag::SCHEDULED) { port.waiting_packets } else { 0 };
        let is_packet = |slot: &u32| self.wires[*slot].packet.class != PAUSE_FRAME;
        self.wires.chain(port.first).filter(is_packet).count() as u64 + u64::from(waiting)
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

    /// Ports of `node`; for a host the first is its NIC, and the last its loopback.
    pub fn ports_of(&self, node: NodeId) -> impl Iterator<Item = PortId> + use<B> {
        self.routing.ports(node)
    }

    /// The port by which a host sends to itself.
    pub fn loopback(&self, host: NodeId) -> PortId {
        self.ports_of(host).last().expect("a host has a loopback")
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
