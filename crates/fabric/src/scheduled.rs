//! Ports whose next packet can't be known in advance: eight traffic classes (`classes.rs`), memory shared
//! with other ports, virtual output queues (`voq.rs`), or a discipline that decides when a packet leaves (CoDel).
//!
//! Packets wait in a queue a class; [`Fabric::transmit`] picks the next when the transmitter is
//! free, and only then is its memory given back. It costs a second event for a packet that waits; one that finds
//! nobody waiting and the transmitter free goes straight onto the wire.
//!
//! Ports with nothing of [`flag::UNUSUAL`] are plain: what the others need is left out of their code.

use crate::classes::{Classes, Waiting};
use crate::discipline::Verdict;
use crate::fabric::{Driver, Fabric, PortEvent};
use crate::packet::{Discard, Ecn, Packet};
use crate::port::{PortId, flag};
use units::Time;

impl<B: Copy + Default> Fabric<B> {
    /// A packet enters a scheduled port with nothing of [`flag::UNUSUAL`].
    #[inline(never)]
    pub(crate) fn enqueue_plain<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &mut Packet<B>,
        driver: &mut D,
    ) {
        let framing = self.framing;
        let port = &mut self.ports[id.index()];
        if port.free_at > now || port.scheduled_packets > 0 || !port.is(flag::OPEN) {
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
        let port = &mut self.ports[id.index()];
        port.count_entry(u64::from(packet.bytes));
        let was_empty = port.wire.is_empty();
        let arrive = port.launch(now, framing.wire_bytes(packet.bytes), packet);
        port.waiting = port.wire.tail();
        if was_empty {
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
        let framing = self.framing;
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
                (port.waiting_bytes + fluid, port.scheduled_packets + fluid_packets)
            };
            if all_bytes + bytes > port.limit_bytes || all_packets >= port.limit_packets {
                return self.discard(now, id, packet, Discard::Tail, driver);
            }
        }
        let pending = classes.pending;
        // Where nothing waits, memory that is taken is given back at once.
        let passes =
            !busy && port.scheduled_packets == 0 && (PLAIN || !pending && !fluids && own == PortId::NONE);
        let (pool, pfc) = (classes.pool, classes.pfc);
        let slot = classes.slot(index, entry.0);
        let (queue, cap) = classes.queue_with_cap(slot);
        let (ahead_bytes, ahead_packets) = (queue.bytes + fluid, queue.packets + fluid_packets);
        if queue.packets == 0 && fluid == 0 {
            queue.discipline.idle(now);
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
            let room;
            (room, xoff) = pfc.take(own, packet.class, cells, pool);
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
            queue.discipline.pass(now);
            classes.pass(index, bytes);
            port.count_entry(bytes);
            let was_empty = port.wire.is_empty();
            let arrive = port.launch(now, framing.wire_bytes(packet.bytes), packet);
            port.waiting = port.wire.tail();
            if was_empty {
                driver.schedule(arrive, PortEvent::Arrive(id));
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
        port.scheduled_packets += 1;
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

    /// The transmitter of `id` is free at `now`, as [`Driver::schedule`] was told.
    #[inline(never)]
    pub fn transmit<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("only scheduled ports ask to transmit");
        if port.free_at != now || !classes.pending {
            return; // The link's rate or state has changed since; a newer event is under way.
        }
        classes.pending = false;
        if port.flags & flag::UNUSUAL == 0 {
            self.transmit_plain(now, id, driver);
        } else if port.is(flag::PAUSES) && self.owes_pause(id) {
            self.send_pause(now, id, driver);
        } else {
            self.transmit_next(now, id, driver);
        }
    }

    /// Sends the next packet of a port with nothing of [`flag::UNUSUAL`]: from the queue's memory to the wire's.
    #[inline(always)]
    fn transmit_plain<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let framing = self.framing;
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let Some(index) = classes.select() else { return };
        let (slot, pool) = (classes.next_slot(index), classes.pool);
        let queue = classes.queue(slot);
        let first = queue.ring.take().expect("a selected queue has a packet");
        let (since, bytes) = (first.since, first.packet.bytes);
        let wire_bytes = framing.wire_bytes(bytes);
        let free_at = now + port.serializer.time_for(wire_bytes);
        let arrive = free_at + port.delay;
        let was_empty = port.wire.is_empty();
        let entry = port.wire.append();
        entry.start = now;
        entry.arrive = arrive;
        entry.packet = first.packet;
        if let Some(pool) = pool {
            let pool = &mut self.pools[pool as usize];
            let cells = pool.cells(bytes);
            pool.give(queue.held, cells);
            queue.held -= cells;
        }
        if queue.packets == 1 {
            queue.discipline.idle(now);
        }
        classes.left(index, slot, u64::from(bytes));
        if let Some(voqs) = &mut classes.voqs {
            voqs.served(index, slot, u64::from(bytes));
        }
        port.free_at = free_at;
        port.wire_bytes += u64::from(wire_bytes);
        port.waiting = port.wire.tail();
        port.waiting_bytes -= u64::from(bytes);
        port.scheduled_packets -= 1;
        let more = port.scheduled_packets > 0;
        classes.pending = more;
        if since != now {
            port.cold.waits.add(now - since);
        }
        if was_empty {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        if more {
            driver.schedule(free_at, PortEvent::Transmit(id));
        }
    }

    pub(crate) fn ask_to_transmit<D: Driver<B>>(&mut self, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        port.cold.classes.as_mut().expect("a scheduled port").pending = true;
        driver.schedule(port.free_at, PortEvent::Transmit(id));
    }

    /// Sends the next packet of any scheduled port, if one waits that may be sent.
    #[inline(never)]
    pub(crate) fn transmit_next<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let framing = self.framing;
        let port = &mut self.ports[id.index()];
        let flags = port.flags;
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let Some(index) = classes.select() else { return };
        let slot = classes.next_slot(index);
        let mut start = now;
        if flags & flag::FLUID != 0 {
            start += self.fluid_leaves(now, id);
        }
        let mut waiting = self.take_first(start, id, index, slot);
        let mut verdict = Verdict::Accept;
        if flags & flag::LEAVING != 0 {
            verdict = self.says_on_leaving(start, id, slot, &waiting);
            while verdict == Verdict::Drop {
                (waiting, verdict) = self.drop_from_front(now, &mut start, id, index, slot, waiting, driver);
            }
        }
        let Waiting { since, mut packet, own } = waiting;
        let port = &mut self.ports[id.index()];
        if verdict == Verdict::Mark {
            packet.ecn = Ecn::Ce;
            port.cold.marks += 1;
        }
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        if let Some(voqs) = &mut classes.voqs {
            voqs.served(index, slot, u64::from(packet.bytes));
        }
        let more = port.scheduled_packets > 0;
        classes.pending |= more;
        if since != start {
            port.cold.waits.add(start - since);
        }
        let was_empty = port.wire.is_empty();
        let arrive = port.launch(start, framing.wire_bytes(packet.bytes), &packet);
        port.waiting = port.wire.tail();
        if was_empty {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        if more {
            driver.schedule(port.free_at, PortEvent::Transmit(id));
        }
        if flags & flag::CAPTURE != 0 {
            driver.sent(start, id, &packet);
        }
        if flags & flag::PAUSES != 0 {
            self.note_sent(now, id, index, driver);
            self.release(now, own, &packet, driver);
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

    /// Gives back the memory of a packet that PFC counts for the port `own`, if it does.
    #[inline(always)]
    pub(crate) fn release<D: Driver<B>>(
        &mut self,
        now: Time,
        own: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        if own == PortId::NONE {
            return;
        }
        let classes = self.ports[own.index()].cold.classes.as_ref().expect("a port of a switch with PFC");
        let pfc = &mut self.pfcs[classes.pfc.expect("PFC counted it") as usize];
        let pool = &mut self.pools[pfc.pool as usize];
        if pfc.give(own, packet.class, pool.cells(packet.bytes), pool) {
            self.signal(now, own, packet.class, driver);
        }
    }

    /// Takes the first packet out of `slot`, and gives its memory back.
    #[inline(always)]
    fn take_first(&mut self, now: Time, id: PortId, index: usize, slot: usize) -> Waiting<B> {
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let waiting = classes.queue(slot).ring.pop().expect("a selected queue has a packet");
        let bytes = u64::from(waiting.packet.bytes);
        classes.give(slot, &waiting, &mut self.pools);
        classes.left(index, slot, bytes);
        let queue = classes.queue(slot);
        if queue.packets == 0 {
            queue.discipline.idle(now);
        }
        port.waiting_bytes -= bytes;
        port.scheduled_packets -= 1;
        waiting
    }

    /// What the discipline of `slot` says to a packet that leaves.
    fn says_on_leaving(&mut self, now: Time, id: PortId, slot: usize, waiting: &Waiting<B>) -> Verdict {
        let queue = self.classes(id).queue(slot);
        let capable = waiting.packet.ecn != Ecn::NotEct;
        queue.discipline.leave(now, now - waiting.since, queue.bytes, capable)
    }

    /// The discipline drops `first`, which would have left at `start`: the next one, and what it says to that.
    #[cold]
    #[allow(clippy::too_many_arguments, reason = "where the packet is, when, and who is told")]
    fn drop_from_front<D: Driver<B>>(
        &mut self,
        now: Time,
        start: &mut Time,
        id: PortId,
        index: usize,
        slot: usize,
        first: Waiting<B>,
        driver: &mut D,
    ) -> (Waiting<B>, Verdict) {
        let paid = u64::from(first.packet.bytes);
        let port = &mut self.ports[id.index()];
        port.uncount_entry(paid);
        if port.is(flag::FLUID) {
            *start += self.fluid_leaves(now, id);
        }
        self.discard(now, id, &first.packet, Discard::Early, driver);
        // A PAUSE frame that memory given back asks for waits until the packet has left.
        self.classes(id).pending = true;
        self.release(now, first.own, &first.packet, driver);
        let waiting = self.take_first(*start, id, index, slot);
        let verdict = self.says_on_leaving(*start, id, slot, &waiting);
        // The class pays for what it sends, not for what it drops.
        let classes = self.classes(id);
        classes.pending = false;
        classes.pay_instead(index, paid, u64::from(waiting.packet.bytes));
        (waiting, verdict)
    }

    pub(crate) fn classes(&mut self, id: PortId) -> &mut Classes<B> {
        self.ports[id.index()].cold.classes.as_mut().expect("a scheduled port")
    }
}
