//! Ports whose next packet can't be known in advance: eight traffic classes under enhanced
//! transmission selection (802.1Qaz: strict priority, and deficit round robin of Shreedhar &
//! Varghese 1996 for the rest), memory shared with other ports, virtual output queues (`voq.rs`), or a
//! discipline that decides when a packet leaves (CoDel).
//!
//! Packets wait in a queue a class; [`Fabric::transmit`] picks the next when the transmitter is
//! free, and only then is its memory given back. It costs a second event for a packet that waits.

use crate::buffer::Pool;
use crate::discipline::{Discipline, Verdict};
use crate::fabric::{Driver, Fabric, PortEvent};
use crate::packet::{Discard, Ecn, Packet};
use crate::port::{PortId, flag};
use crate::ring::Ring;
use crate::voq::Voqs;
use units::Time;

/// Bytes that a weight of 1 may send a round: a full Ethernet payload, so that a turn sends a packet.
const QUANTUM: u64 = 1500;

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting<B> {
    pub since: Time,
    pub packet: Packet<B>,
    /// The switch's port that it came in by and that PFC counts it for; else [`PortId::NONE`].
    pub own: PortId,
}

/// Where a packet waits: type-erased per port by [`Queues`].
#[derive(Debug)]
pub(crate) struct ClassQueue {
    pub discipline: Discipline,
    /// Memory held, in whole cells.
    pub held: u64,
    pub bytes: u64,
    pub packets: u32,
    pub deficit: u64,
}

impl ClassQueue {
    pub(crate) fn new(discipline: Discipline) -> ClassQueue {
        ClassQueue { discipline, held: 0, bytes: 0, packets: 0, deficit: 0 }
    }

    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.packets += 1;
    }

    fn remove(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.packets -= 1;
    }
}

/// The classes of a port.
#[derive(Debug)]
pub(crate) struct Classes {
    pub queues: Vec<ClassQueue>,
    /// What the packets of a class wait in, if not in the queue of the class: that only counts them then.
    pub voqs: Option<Box<Voqs>>,
    /// Index of the switch's pool, if it shares memory.
    pub pool: Option<u32>,
    strict: u8,
    weights: [u32; 8],
    turn: usize,
    /// The class whose turn it is has had its quantum.
    credited: bool,
    /// An event to transmit is under way.
    pub pending: bool,
    /// Index of the switch's [`crate::pfc::Pfc`].
    pub pfc: Option<u32>,
    /// Limits are each queue's, not the port's: a paused class takes no room from others.
    pub own_limits: bool,
    /// Bit c set: class c may not send.
    pub paused: u8,
    /// Bit c set: the watchdog discards what comes to class c.
    pub dropping: u8,
    /// Bit c set: the watchdog lets class c send though it is paused.
    pub ignoring: u8,
}

impl Classes {
    /// One queue for all classes, or eight.
    pub(crate) fn new(
        disciplines: Vec<Discipline>,
        strict: u8,
        weights: [u32; 8],
        pool: Option<u32>,
    ) -> Classes {
        Classes {
            queues: disciplines.into_iter().map(ClassQueue::new).collect(),
            voqs: None,
            pool,
            strict,
            weights,
            turn: 0,
            credited: false,
            pending: false,
            pfc: None,
            own_limits: false,
            paused: 0,
            dropping: 0,
            ignoring: 0,
        }
    }

    fn index(&self, class: u8) -> usize {
        usize::from(class) % self.queues.len()
    }

    /// Where a packet of class `index` that came in by port number `entry` waits.
    #[inline]
    fn slot(&mut self, index: usize, entry: u32) -> usize {
        self.voqs.as_mut().map_or(index, |voqs| voqs.slot(index, entry))
    }

    /// Where the next packet of class `index` is, which has some.
    #[inline]
    fn next_slot(&self, index: usize) -> usize {
        self.voqs.as_ref().map_or(index, |voqs| voqs.next(index))
    }

    #[inline(always)]
    fn queue(&mut self, slot: usize) -> &mut ClassQueue {
        match &mut self.voqs {
            Some(voqs) => &mut voqs.queues[slot],
            None => &mut self.queues[slot],
        }
    }

    /// Takes memory for `bytes` in `slot`.
    #[inline(always)]
    fn take(&mut self, slot: usize, bytes: u16, pools: &mut [Pool]) -> Result<(), Discard> {
        let Some(pool) = self.pool else { return Ok(()) };
        let pool = &mut pools[pool as usize];
        let cells = pool.cells(bytes);
        let cap = self.voqs.as_ref().map_or(u64::MAX, |voqs| voqs.cap);
        let queue = self.queue(slot);
        if queue.held + cells > cap {
            return Err(Discard::Tail);
        }
        pool.take(queue.held, cells)?;
        queue.held += cells;
        Ok(())
    }

    /// Gives the memory of a packet in `slot` back; that of an ingress group is given back by [`Fabric::release`].
    #[inline(always)]
    fn give<B>(&mut self, slot: usize, waiting: &Waiting<B>, pools: &mut [Pool]) {
        let Some(pool) = self.pool else { return };
        let pool = &mut pools[pool as usize];
        let cells = pool.cells(waiting.packet.bytes);
        let queue = self.queue(slot);
        if waiting.own == PortId::NONE {
            pool.give(queue.held, cells);
        }
        queue.held -= cells;
    }

    /// Memory held by all queues, in whole cells.
    pub(crate) fn held(&self) -> u64 {
        let voqs = self.voqs.iter().flat_map(|voqs| &voqs.queues);
        self.queues.iter().chain(voqs).map(|queue| queue.held).sum()
    }

    /// Takes or gives memory until fluid, which `held` some, holds `wanted`, or as much as there is room for.
    pub(crate) fn hold_fluid(&mut self, held: &mut u64, wanted: u64, pools: &mut [Pool]) -> u64 {
        let Some(pool) = self.pool else { return wanted };
        let (pool, queue) = (&mut pools[pool as usize], &mut self.queues[0]);
        if wanted >= *held {
            let more = pool.take_up_to(queue.held, wanted - *held);
            queue.held += more;
            *held += more;
        } else {
            pool.give(queue.held, *held - wanted);
            queue.held -= *held - wanted;
            *held = wanted;
        }
        *held
    }

    /// Room of the only queue in the shared memory, and the length above which it drops what can't be marked.
    pub(crate) fn room_for_fluid(&self, pools: &[Pool]) -> (u64, u64) {
        let queue = &self.queues[0];
        let room = self.pool.map_or(u64::MAX, |pool| pools[pool as usize].room(queue.held));
        (room, queue.discipline.ceiling())
    }

    /// Notes the length of a virtual output queue in which packets wait.
    #[inline]
    fn note_length(&mut self, slot: usize) {
        if let Some(voqs) = &mut self.voqs {
            voqs.note_length(slot);
        }
    }

    /// The longest that a virtual output queue has been, in bytes; none without them.
    pub(crate) fn longest_voq(&self) -> Option<u64> {
        self.voqs.as_ref().map(|voqs| voqs.max_bytes)
    }

    /// The class to serve next; `head` tells the length of the first packet in a slot.
    fn select(&mut self, head: impl Fn(usize) -> u64) -> Option<usize> {
        if (0..self.queues.len()).all(|class| !self.may_send(class)) {
            return None;
        }
        if self.queues.len() == 1 {
            return Some(0);
        }
        let strict = (0..8).rev().find(|&c| self.strict & (1 << c) != 0 && self.may_send(c));
        Some(strict.unwrap_or_else(|| self.round_robin(head)))
    }

    #[inline]
    fn may_send(&self, class: usize) -> bool {
        self.queues[class].packets > 0 && self.paused & (1 << class) == 0
    }

    fn round_robin(&mut self, head: impl Fn(usize) -> u64) -> usize {
        loop {
            let class = self.turn;
            let bytes = if self.queues[class].packets > 0 { head(self.next_slot(class)) } else { 0 };
            let queue = &mut self.queues[class];
            if queue.packets == 0 || self.strict & (1 << class) != 0 {
                queue.deficit = 0;
            } else if self.paused & (1 << class) == 0 {
                if !self.credited {
                    queue.deficit += u64::from(self.weights[class].max(1)) * QUANTUM;
                    self.credited = true;
                }
                if queue.deficit >= bytes {
                    queue.deficit -= bytes;
                    return class;
                }
            }
            self.turn = (class + 1) % 8;
            self.credited = false;
        }
    }
}

impl<B: Copy + Default> Fabric<B> {
    pub(crate) fn enqueue_scheduled<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        mut packet: Packet<B>,
        driver: &mut D,
    ) {
        let port = &mut self.ports[id.index()];
        let fluids = port.is(flag::FLUID);
        let own =
            if port.is(flag::PAUSES) { self.counted_for(id, ingress, packet.class) } else { PortId::NONE };
        let port = &mut self.ports[id.index()];
        let entry = if port.is(flag::VOQ) && ingress != PortId::NONE { self.reverse(ingress) } else { id };
        let (fluid, fluid_packets) = if fluids { self.fluid_before(now, id) } else { (0, 0) };
        let port = &mut self.ports[id.index()];
        let (limit_bytes, limit_packets) = (port.limit_bytes, port.limit_packets);
        let (mut all_bytes, mut all_packets) =
            (port.waiting_bytes + fluid, port.scheduled_packets + fluid_packets);
        let sending = port.free_at > now;
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        let index = classes.index(packet.class);
        let busy = sending || classes.paused & (1 << index) != 0;
        if classes.dropping & (1 << index) != 0 {
            return self.discard_in_storm(now, id, &packet, driver);
        }
        if classes.own_limits {
            (all_bytes, all_packets) = (classes.queues[index].bytes, classes.queues[index].packets);
        }
        let bytes = u64::from(packet.bytes);
        if (busy || fluid > 0) && (all_bytes + bytes > limit_bytes || all_packets >= limit_packets) {
            return self.discard(now, id, &packet, Discard::Tail, driver);
        }
        let slot = classes.slot(index, entry.0);
        let queue = classes.queue(slot);
        let (ahead_bytes, ahead_packets) = (queue.bytes + fluid, queue.packets + fluid_packets);
        if queue.packets == 0 && fluid == 0 {
            queue.discipline.idle(now);
        }
        let verdict = queue.discipline.admit(now, ahead_bytes, ahead_packets, packet.ecn != Ecn::NotEct);
        if verdict == Verdict::Drop {
            return self.discard(now, id, &packet, Discard::Early, driver);
        }
        let mut xoff = false;
        if own != PortId::NONE {
            let pfc = &mut self.pfcs[classes.pfc.expect("PFC counts it") as usize];
            let pool = &mut self.pools[pfc.pool as usize];
            let cells = pool.cells(packet.bytes);
            let room;
            (room, xoff) = pfc.take(own, packet.class, cells, pool);
            if !room {
                self.discard(now, own, &packet, Discard::Headroom, driver);
                return if xoff {
                    self.signal(now, own, packet.class, driver)
                };
            }
            classes.queue(slot).held += cells;
        } else if let Err(reason) = classes.take(slot, packet.bytes, &mut self.pools) {
            let blamed = reason == Discard::Pool && ingress != PortId::NONE;
            let port = if blamed { self.reverse(ingress) } else { id };
            return self.discard(now, port, &packet, reason, driver);
        }
        if verdict == Verdict::Mark {
            packet.ecn = Ecn::Ce;
            port.cold.marks += 1;
        }
        let rings = &mut self.queues[id.index()];
        if rings.len() <= slot {
            rings.resize_with(slot + 1, Ring::default);
        }
        rings[slot].push(Waiting { since: now, packet, own });
        classes.queues[index].add(bytes);
        if let Some(voqs) = &mut classes.voqs {
            voqs.queues[slot].add(bytes);
            voqs.entered(index, slot, |_| bytes);
        }
        let pending = classes.pending;
        if pending || busy {
            classes.note_length(slot);
        }
        port.waiting_bytes += bytes;
        port.scheduled_packets += 1;
        port.count_entry(bytes);
        if fluids {
            self.fluid_entered(id);
        }
        let port = &mut self.ports[id.index()];
        if pending || busy {
            port.note_length();
        }
        if !pending && sending {
            self.ask_to_transmit(id, driver);
        } else if !pending {
            self.transmit_next(now, id, driver);
        }
        if xoff {
            self.signal(now, own, packet.class, driver);
        }
    }

    /// The transmitter of `id` is free at `now`, as [`Driver::schedule`] was told.
    #[inline]
    pub fn transmit<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("only scheduled ports ask to transmit");
        if port.free_at != now || !classes.pending {
            return; // The link's rate or state has changed since; a newer event is under way.
        }
        classes.pending = false;
        if port.is(flag::PAUSES) && self.owes_pause(id) {
            return self.send_pause(now, id, driver);
        }
        self.transmit_next(now, id, driver);
    }

    pub(crate) fn ask_to_transmit<D: Driver<B>>(&mut self, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        port.cold.classes.as_mut().expect("a scheduled port").pending = true;
        driver.schedule(port.free_at, PortEvent::Transmit(id));
    }

    pub(crate) fn transmit_next<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let queues = &self.queues[id.index()];
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let Some(index) = classes.select(|slot| length_of_first(queues, slot)) else { return };
        let slot = classes.next_slot(index);
        let mut start = now;
        if port.is(flag::FLUID) {
            start += self.fluid_leaves(now, id);
        }
        let (mut waiting, mut verdict) = self.take_first(start, id, index, slot);
        while verdict == Verdict::Drop {
            (waiting, verdict) = self.drop_from_front(now, &mut start, id, index, slot, waiting, driver);
        }
        let Waiting { since, mut packet, own } = waiting;
        let queues = &self.queues[id.index()];
        let port = &mut self.ports[id.index()];
        if verdict == Verdict::Mark {
            packet.ecn = Ecn::Ce;
            port.cold.marks += 1;
        }
        if let Some(voqs) = port.cold.classes.as_mut().and_then(|classes| classes.voqs.as_mut()) {
            voqs.served(index, slot, u64::from(packet.bytes), |slot| length_of_first(queues, slot));
        }
        if since != start {
            port.cold.waits.add(start - since);
        }
        let was_empty = port.wire.is_empty();
        let more = port.scheduled_packets > 0;
        let arrive = port.launch(start, self.framing.wire_bytes(packet.bytes), &packet);
        port.waiting = port.wire.tail();
        if was_empty {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        if port.is(flag::CAPTURE) {
            driver.sent(start, id, &packet);
        }
        if more {
            self.ask_to_transmit(id, driver);
        }
        if self.ports[id.index()].is(flag::PAUSES) {
            self.note_sent(now, id, index, driver);
            self.release(now, own, &packet, driver);
        }
    }

    /// The switch's port that PFC counts a packet of `class` for that came by `ingress` and leaves by `id`.
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
    fn release<D: Driver<B>>(&mut self, now: Time, own: PortId, packet: &Packet<B>, driver: &mut D) {
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

    /// Takes the first packet out of `slot`, and gives its memory back; what the discipline says to it.
    #[inline(always)]
    fn take_first(&mut self, now: Time, id: PortId, index: usize, slot: usize) -> (Waiting<B>, Verdict) {
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let ring = &mut self.queues[id.index()][slot];
        let waiting = ring.pop().expect("a selected queue has a packet");
        let packet = &waiting.packet;
        let bytes = u64::from(packet.bytes);
        classes.give(slot, &waiting, &mut self.pools);
        classes.queues[index].remove(bytes);
        if let Some(voqs) = &mut classes.voqs {
            voqs.queues[slot].remove(bytes);
            ring.release();
        }
        let queue = classes.queue(slot);
        if queue.packets == 0 {
            queue.discipline.idle(now);
        }
        let capable = packet.ecn != Ecn::NotEct;
        let verdict = queue.discipline.leave(now, now - waiting.since, queue.bytes, capable);
        port.waiting_bytes -= bytes;
        port.scheduled_packets -= 1;
        (waiting, verdict)
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
        let (waiting, verdict) = self.take_first(*start, id, index, slot);
        // The class pays for what it sends, not for what it drops.
        let classes = self.classes(id);
        classes.pending = false;
        let class = &mut classes.queues[index];
        class.deficit = (class.deficit + paid).saturating_sub(u64::from(waiting.packet.bytes));
        (waiting, verdict)
    }

    /// Empties the queues of a port whose link went down.
    pub(crate) fn drain_classes<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        driver: &mut D,
    ) -> Vec<Packet<B>> {
        let slots = self.queues[id.index()].len();
        let lost = (0..slots).flat_map(|slot| self.drain_slot(now, id, slot, driver)).collect();
        let Some(classes) = self.ports[id.index()].cold.classes.as_mut() else { return lost };
        for queue in &mut classes.queues {
            (queue.bytes, queue.packets, queue.deficit) = (0, 0, 0);
        }
        if let Some(voqs) = &mut classes.voqs {
            voqs.clear();
        }
        classes.pending = false;
        lost
    }

    /// Takes all packets out of `slot`; what counts them is left to the caller.
    fn drain_slot<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        slot: usize,
        driver: &mut D,
    ) -> Vec<Packet<B>> {
        let mut lost = Vec::new();
        while let Some(waiting) = self.queues[id.index()].get_mut(slot).and_then(Ring::pop) {
            let classes = self.ports[id.index()].cold.classes.as_mut().expect("a scheduled port");
            classes.give(slot, &waiting, &mut self.pools);
            self.release(now, waiting.own, &waiting.packet, driver);
            lost.push(waiting.packet);
        }
        lost
    }

    fn classes(&mut self, id: PortId) -> &mut Classes {
        self.ports[id.index()].cold.classes.as_mut().expect("a scheduled port")
    }

    /// Empties the queue of a class of a port without virtual output queues.
    pub(crate) fn drain_class<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        index: usize,
        driver: &mut D,
    ) -> Vec<Packet<B>> {
        let lost = self.drain_slot(now, id, index, driver);
        let port = &mut self.ports[id.index()];
        let queue = &mut port.cold.classes.as_mut().expect("a scheduled port").queues[index];
        port.waiting_bytes -= queue.bytes;
        port.scheduled_packets -= queue.packets;
        (queue.bytes, queue.packets, queue.deficit) = (0, 0, 0);
        for packet in &lost {
            port.uncount_entry(u64::from(packet.bytes));
        }
        lost
    }
}

#[inline]
fn length_of_first<B: Copy + Default>(rings: &[Ring<Waiting<B>>], slot: usize) -> u64 {
    rings.get(slot).and_then(Ring::front).map_or(0, |waiting| u64::from(waiting.packet.bytes))
}
