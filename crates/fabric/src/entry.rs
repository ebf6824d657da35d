//! The way into a port: the short one (`fifo.rs`) where it is open, else past what the short one leaves out
//! and on to where the port queues.

use crate::driver::Driver;
use crate::fabric::Fabric;
use crate::fifo::Entered;
use crate::ids::PortId;
use crate::packet::{Discard, Ecn, Packet, Verdict};
use crate::port::flag;
use crate::wires::NONE;
use units::Time;

impl<B: Copy + Default> Fabric<B> {
    /// A packet enters `id`'s queue at `now`; it came in by `ingress` ([`PortId::NONE`]: from the host
    /// itself).
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

    /// What the short way leaves out: links that are down, MTU, captures, RED, then on to where the port
    /// queues.
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
