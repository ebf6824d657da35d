//! The short way through a port: one first-in first-out queue with memory of its own.
//!
//! When a packet enters such a queue, the time at which it leaves is already certain, so one event a
//! hop is exact: packets go straight onto the wire with a start in the future, and the queue's
//! length at any time is what has not started by then. Ports with classes, shared memory or pauses
//! can't know the future and go the long way in `scheduled.rs`.

use crate::config::Framing;
use crate::discipline::Verdict;
use crate::fabric::{Driver, Fabric, PortEvent};
use crate::packet::{Discard, Ecn, Packet};
use crate::port::{Port, PortId, flag};
use crate::wires::{NONE, Wire};
use units::Time;

/// What has become of a packet that was to enter a queue the short way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    Queued,
    Discarded(Discard),
    /// Nothing: the port has something of [`flag::ENTRY`].
    NotYet,
}

impl<B: Copy + Default> Port<B> {
    /// The packet in `slot` enters the queue of this port, `id`, the short way.
    #[inline(always)]
    pub(crate) fn enter<D: Driver<B>>(
        &mut self,
        wires: &mut [Wire<B>],
        framing: Framing,
        now: Time,
        id: PortId,
        slot: u32,
        driver: &mut D,
    ) -> Entered {
        if self.is(flag::ENTRY) {
            return Entered::NotYet;
        }
        let packet = &mut wires[slot as usize].packet;
        let bytes = u64::from(packet.bytes);
        let wire_bytes = framing.wire_bytes(packet.bytes);
        if self.free_at <= now {
            // Nobody waits: the packet begins at once.
            if self.waiting != NONE {
                self.clear_queue();
            }
            self.count_entry(bytes);
            if let Some(arrive) = self.launch(wires, now, wire_bytes, slot) {
                driver.schedule(arrive, PortEvent::Arrive(id));
            }
            return Entered::Queued;
        }
        self.start_due(wires, now);
        if self.is_full(self.waiting_bytes + bytes, self.waiting_packets) {
            return Entered::Discarded(Discard::Tail);
        }
        if self.marks() {
            let ecn = &mut wires[slot as usize].packet.ecn;
            if *ecn == Ecn::NotEct {
                return Entered::Discarded(Discard::Early);
            }
            *ecn = Ecn::Ce;
            self.cold.marks += 1;
        }
        let start = self.free_at;
        self.join_queue(slot, start, bytes);
        self.count_entry(bytes);
        // A busy transmitter has its packet on the wire, so an arrival is mostly scheduled.
        let arrive = self.launch(wires, start, wire_bytes, slot);
        self.note_wait_until(now, start);
        if let Some(arrive) = arrive {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        Entered::Queued
    }
}

impl<B: Copy + Default> Fabric<B> {
    /// A packet enters `id`'s queue at `now`; it came in by `ingress` ([`PortId::NONE`]: from the host itself).
    #[inline(always)]
    pub fn enqueue<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        let (slot, wires) = self.wires.insert(packet);
        let entered = self.ports[id.index()].enter(wires, self.framing, now, id, slot, driver);
        if entered != Entered::Queued {
            self.enter_other(now, ingress, id, slot, entered, driver);
        }
    }

    /// A packet that can't enter a port the short way.
    #[inline(never)]
    pub(crate) fn enter_other<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        slot: u32,
        entered: Entered,
        driver: &mut D,
    ) {
        let mut packet = *self.wires.take(slot);
        match entered {
            Entered::Discarded(reason) => self.discard(now, id, &packet, reason, driver),
            _ => self.enqueue_other(now, ingress, id, &mut packet, driver),
        }
    }

    /// What the short way leaves out: links that are down, MTU, captures, RED, then on to where the port queues.
    #[cold]
    pub(crate) fn enqueue_long<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &mut Packet<B>,
        driver: &mut D,
    ) {
        let port = &mut self.ports[id.index()];
        if port.is(flag::DOWN) {
            return self.go_around(now, ingress, id, *packet, driver);
        }
        if u32::from(packet.bytes) > port.cold.mtu {
            return self.discard(now, id, packet, Discard::Mtu, driver);
        }
        if port.is(flag::CELLS) {
            return self.enqueue_cells(now, ingress, id, packet, driver);
        }
        if port.is(flag::SCHEDULED) {
            return self.enqueue_scheduled::<false, D>(now, ingress, id, packet, driver);
        }
        let (fluid, fluid_packets) = if port.is(flag::FLUID) {
            port.settle_fluid(&self.wires.slots, now, self.framing)
        } else {
            (0, 0)
        };
        if port.is(flag::RED) {
            port.start_due(&self.wires.slots, now);
            let (bytes, packets) = (port.waiting_bytes + fluid, port.waiting_packets + fluid_packets);
            if packets == 0 && fluid == 0 {
                let emptied = port.cold.fluid.as_ref().map_or(port.free_at, |fluid| fluid.emptied);
                port.cold.discipline.idle(emptied);
            }
            match port.cold.discipline.admit(now, bytes, packets, packet.ecn != Ecn::NotEct) {
                Verdict::Accept => {}
                Verdict::Mark => {
                    packet.ecn = Ecn::Ce;
                    port.cold.marks += 1;
                }
                Verdict::Drop => return self.discard(now, id, packet, Discard::Early, driver),
            }
        }
        let port = &mut self.ports[id.index()];
        let (flags, before) = (port.flags, port.enqueued_packets);
        port.flags &= !flag::ENTRY;
        let start = port.free_at.max(now);
        let (limit, mark) = (port.limit_packets, port.mark_packets);
        port.waiting_bytes += fluid;
        port.limit_packets = limit.saturating_sub(fluid_packets);
        port.mark_packets = mark.saturating_sub(fluid_packets);
        self.enqueue(now, ingress, id, packet, driver);
        let port = &mut self.ports[id.index()];
        port.flags = flags;
        port.waiting_bytes -= fluid;
        (port.limit_packets, port.mark_packets) = (limit, mark);
        if flags & flag::FLUID != 0 {
            if port.waiting == NONE && port.enqueued_packets > before {
                port.note_in_hand(&self.wires[port.last]);
            }
            port.close_to_fluid(now, fluid);
        }
        if flags & flag::CAPTURE != 0 && port.enqueued_packets > before {
            driver.sent(start, id, &self.wires[port.last].packet);
        }
    }

    /// The link ahead is down: another equal or longer way to the destination, if there is one.
    fn go_around<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        mut packet: Packet<B>,
        driver: &mut D,
    ) {
        let (owner, peer) = (self.ports[id.index()].cold.owner, self.ports[id.index()].cold.peer);
        let to = if self.is_host(peer) { peer } else { self.routing.destination(packet.route) };
        let Some(route) = self.routing.route(owner, to, packet.hash) else {
            let port = if ingress == PortId::NONE { id } else { self.reverse(ingress) };
            return self.discard(now, port, &packet, Discard::NoRoute, driver);
        };
        let (next, route) = self.routing.next(route);
        packet.route = route;
        self.enqueue(now, ingress, next, &packet, driver);
    }
}
