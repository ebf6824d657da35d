//! Ports whose next packet can't be known in advance: eight traffic classes (`classes.rs`), memory shared
//! with other ports, virtual output queues (`voq.rs`), or a discipline that decides when a packet leaves (CoDel).
//!
//! Packets wait in a queue a class; [`Fabric::transmit`] (`leaving.rs`) picks the next when the transmitter is
//! free, and only then is its memory given back. It costs a second event for a packet that waits; one that finds
//! nobody waiting and the transmitter free goes straight onto the wire.
//!
//! Ports with nothing of [`flag::UNUSUAL`] are plain: what the others need is left out of their code.

use crate::discipline::Verdict;
use crate::fabric::{Driver, Fabric, PortEvent};
use crate::packet::{Discard, Ecn, Packet};
use crate::port::{PortId, flag};
use units::Time;

impl<B: Copy + Default> Fabric<B> {
    /// A packet enters a port that is not first-in first-out, or one with something of [`flag::UNUSUAL`].
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue_other<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &mut Packet<B>,
        driver: &mut D,
    ) {
        let port = &mut self.ports[id.index()];
        if port.flags & (flag::SCHEDULED | flag::UNUSUAL) != flag::SCHEDULED {
            return self.enqueue_long(now, ingress, id, packet, driver);
        }
        if port.free_at > now || port.waiting_packets > 0 || !port.is(flag::OPEN) {
            return self.queue_plain(now, ingress, id, packet, driver);
        }
        let voq = port.is(flag::VOQ);
        let classes = port.cold.classes.as_ref().expect("a scheduled port has classes");
        if classes.pool.is_some_and(|pool| !self.pools[pool as usize].has_ample()) {
            return self.queue_plain(now, ingress, id, packet, driver);
        }
        if voq {
            self.open_voq(ingress, id);
        }
        self.ports[id.index()].count_entry(u64::from(packet.bytes));
        self.launch(now, id, packet, driver);
    }

    /// Puts a packet on the wire of a scheduled port, whose transmitter is free at `start`.
    #[inline(always)]
    pub(crate) fn launch<D: Driver<B>>(
        &mut self,
        start: Time,
        id: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        let (slot, wires) = self.wires.insert(packet);
        let wire_bytes = self.framing.wire_bytes(packet.bytes);
        if let Some(arrive) = self.ports[id.index()].launch(wires, start, wire_bytes, slot) {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
    }

    /// A packet goes by `id` without waiting: its virtual output queue comes into being, as for one that waits.
    #[inline(always)]
    fn open_voq(&mut self, ingress: PortId, id: PortId) {
        let entry = if ingress == PortId::NONE { id } else { self.reverse(ingress) };
        self.classes(id).slot(0, entry.0);
    }

    #[inline(never)]
    fn queue_plain<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &mut Packet<B>,
        driver: &mut D,
    ) {
        self.enqueue_scheduled::<true, D>(now, ingress, id, packet, driver);
    }

    #[inline(always)]
    pub(crate) fn enqueue_scheduled<const PLAIN: bool, D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &mut Packet<B>,
        driver: &mut D,
    ) {
        let flags = self.ports[id.index()].flags;
        let fluids = !PLAIN && flags & flag::FLUID != 0;
        let own = if !PLAIN && flags & flag::PAUSES != 0 {
            self.counted_for(id, ingress, packet.class)
        } else {
            PortId::NONE
        };
        let entry =
            if flags & flag::VOQ != 0 && ingress != PortId::NONE { self.reverse(ingress) } else { id };
        let (fluid, fluid_packets) = if fluids { self.fluid_before(now, id) } else { (0, 0) };
        let port = &mut self.ports[id.index()];
        let sending = port.free_at > now;
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        let index = classes.index(packet.class);
        if !PLAIN && classes.dropping & (1 << index) != 0 {
            return self.discard_in_storm(now, id, packet, driver);
        }
        let busy = sending || !PLAIN && classes.paused & (1 << index) != 0;
        let bytes = u64::from(packet.bytes);
        if busy || fluid > 0 {
            let (all_bytes, all_packets) = if !PLAIN && classes.own_limits {
                (classes.queues[index].bytes, classes.queues[index].packets)
            } else {
                (port.waiting_bytes + fluid, port.waiting_packets + fluid_packets)
            };
            if port.is_full(all_bytes + bytes, all_packets) {
                return self.discard(now, id, packet, Discard::Tail, driver);
            }
        }
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        let pending = classes.pending;
        // Where nothing waits, memory that is taken is given back at once.
        let mut passes = !busy && port.waiting_packets == 0 && (PLAIN || !pending && !fluids);
        let (pool, pfc) = (classes.pool, classes.pfc);
        let slot = classes.slot(index, entry.0);
        let (queue, cap) = classes.queue_with_cap(slot);
        let (ahead_bytes, ahead_packets) = (queue.bytes + fluid, queue.packets + fluid_packets);
        if fluids && queue.packets == 0 && fluid == 0 {
            let emptied = port.cold.fluid.as_ref().map_or(Time::ZERO, |fluid| fluid.emptied);
            queue.discipline.idle(emptied);
        }
        let verdict = queue.discipline.admit(now, ahead_bytes, ahead_packets, packet.ecn != Ecn::NotEct);
        if verdict == Verdict::Drop {
            return self.discard(now, id, packet, Discard::Early, driver);
        }
        let mut xoff = false;
        let mut cells = 0;
        if !PLAIN && own != PortId::NONE {
            let pfc = &mut self.pfcs[pfc.expect("PFC counts it") as usize];
            let pool = &mut self.pools[pfc.pool as usize];
            cells = pool.cells(packet.bytes);
            passes = passes && pfc.pass(own, packet.class, cells, pool);
            let mut room = true;
            if !passes {
                (room, xoff) = pfc.take(own, packet.class, cells, pool);
            }
            if !room {
                self.discard(now, own, packet, Discard::Headroom, driver);
                return if xoff {
                    self.signal(now, own, packet.class, driver)
                };
            }
        } else if let Some(pool) = pool {
            let pool = &mut self.pools[pool as usize];
            cells = pool.cells(packet.bytes);
            match queue.room(cells, cap, pool) {
                Ok(_) if passes => {}
                Ok(beyond) => pool.take(beyond),
                Err(reason) => return self.no_memory(now, ingress, id, packet, reason, driver),
            }
        }
        if verdict == Verdict::Mark {
            packet.ecn = Ecn::Ce;
            port.cold.marks += 1;
        }
        if passes {
            let tell = queue.discipline.pass(now);
            classes.pass(index, bytes);
            port.count_entry(bytes);
            self.launch(now, id, packet, driver);
            if tell {
                self.note_idle(id, slot);
            }
            if !PLAIN {
                self.note_passed(now, id, index, packet, driver);
            }
            return;
        }
        queue.held += cells;
        let waiting = queue.ring.append();
        waiting.since = now;
        waiting.packet = *packet;
        waiting.own = own;
        classes.entered(index, slot, bytes);
        if (pending || busy)
            && let Some(voqs) = &mut classes.voqs
        {
            voqs.note_length(slot);
        }
        classes.pending |= sending;
        port.waiting_bytes += bytes;
        port.waiting_packets += 1;
        port.count_entry(bytes);
        if pending || busy {
            port.note_length();
        }
        let free_at = port.free_at;
        if fluids {
            self.fluid_entered(id);
        }
        if !pending {
            if sending {
                driver.schedule(free_at, PortEvent::Transmit(id));
            } else {
                self.transmit_next(now, id, driver);
            }
        }
        if !PLAIN && xoff {
            self.signal(now, own, packet.class, driver);
        }
    }

    /// No memory is left for a packet that is to leave by `id`.
    #[cold]
    fn no_memory<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &Packet<B>,
        reason: Discard,
        driver: &mut D,
    ) {
        let blamed = reason == Discard::Pool && ingress != PortId::NONE;
        let port = if blamed { self.reverse(ingress) } else { id };
        self.discard(now, port, packet, reason, driver);
    }

    /// Queue `slot` of `id` has nothing left: it is idle when its last packet is sent.
    #[inline(always)]
    pub(crate) fn note_idle(&mut self, id: PortId, slot: usize) {
        let port = &mut self.ports[id.index()];
        let free_at = port.free_at;
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        classes.queue(slot).discipline.idle(free_at);
    }

    /// What remains to be done for a packet of class `index` that has gone through `id` without waiting.
    fn note_passed<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        index: usize,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        let flags = self.ports[id.index()].flags;
        if flags & flag::CAPTURE != 0 {
            driver.sent(now, id, packet);
        }
        if flags & flag::PAUSES != 0 {
            self.note_sent(now, id, index, driver);
        }
    }

    /// The switch's port that PFC counts a packet of `class` for that came by `ingress` and leaves by `id`.
    #[inline(always)]
    fn counted_for(&self, id: PortId, ingress: PortId, class: u8) -> PortId {
        let pfc = self.ports[id.index()].cold.classes.as_ref().and_then(|classes| classes.pfc);
        match pfc {
            Some(pfc) if ingress != PortId::NONE && self.pfcs[pfc as usize].covers(class) => {
                self.reverse(ingress)
            }
            _ => PortId::NONE,
        }
    }
}
