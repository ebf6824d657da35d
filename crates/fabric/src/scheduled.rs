//! Ports whose next packet can't be known in advance: eight traffic classes (`classes.rs`), memory shared
//! with other ports, virtual output queues (`voq.rs`), or a discipline that decides when a packet leaves
//! (CoDel).
//!
//! Packets wait in a queue a class; [`Fabric::transmit`] (`leaving.rs`) picks the next when the transmitter
//! is free, and only then is its memory given back. It costs a second event for a packet that waits; one that
//! finds nobody waiting and the transmitter free goes straight onto the wire.
//!
//! Ports with nothing of [`flag::UNUSUAL`] are plain: what the others need is left out of their code.

use crate::buffer::Pool;
use crate::driver::{Driver, PortEvent};
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::{Discard, Ecn, Packet, Verdict};
use crate::pfc::Pfc;
use crate::port::{Port, flag};
use crate::queue::ClassQueue;
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
        let port = &mut self.ports[id.index()];
        if let Some(arrive) = port.launch(wires, start, wire_bytes, slot) {
            port.schedule_arrival(arrive, id, driver);
        }
    }

    /// A packet goes by `id` without waiting: its virtual output queue comes into being, as for one that
    /// waits.
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

    /// A packet enters the queue of its class, or goes by it. The order is that of a switch: the port's
    /// limit, the queue discipline, memory. A packet that one of them refuses leaves no trace in those behind
    /// it.
    #[inline(always)]
    pub(crate) fn enqueue_scheduled<const PLAIN: bool, D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &mut Packet<B>,
        driver: &mut D,
    ) {
        let fluids = !PLAIN && self.ports[id.index()].is(flag::FLUID);
        let (own, entry) = self.origin::<PLAIN>(id, ingress, packet.class);
        let fluid = if fluids { self.fluid_before(now, id) } else { (0, 0) };
        let port = &mut self.ports[id.index()];
        let sending = port.free_at > now;
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        let index = classes.index(packet.class);
        if !PLAIN && classes.dropping & (1 << index) != 0 {
            return self.discard_in_storm(now, id, packet, driver);
        }
        let busy = sending || !PLAIN && classes.paused & (1 << index) != 0;
        let bytes = u64::from(packet.bytes);
        if (busy || fluid.0 > 0) && port.is_class_full::<PLAIN>(index, bytes, fluid) {
            return self.discard(now, id, packet, Discard::Tail, driver);
        }
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        let pending = classes.pending;
        // Where nothing waits, memory that is taken is given back at once.
        let passes = !busy && port.waiting_packets == 0 && (PLAIN || !pending && !fluids);
        let (pool, pfc) = (classes.pool, classes.pfc);
        let slot = classes.slot(index, entry.0);
        let (queue, cap) = classes.queue_with_cap(slot);
        if fluids && queue.packets == 0 && fluid.0 == 0 {
            let emptied = port.cold.fluid.as_ref().map_or(Time::ZERO, |fluid| fluid.emptied);
            queue.discipline.idle(emptied);
        }
        let (ahead_bytes, ahead_packets) = (queue.bytes + fluid.0, queue.packets + fluid.1);
        let verdict = queue.discipline.admit(now, ahead_bytes, ahead_packets, packet.ecn != Ecn::NotEct);
        if verdict == Verdict::Drop {
            return self.discard(now, id, packet, Discard::Early, driver);
        }
        let memory = if !PLAIN && own != PortId::NONE {
            let pfc = &mut self.pfcs[pfc.expect("PFC counts it") as usize];
            let pool = &mut self.pools[pfc.pool as usize];
            Memory::of_ingress(pfc, pool, own, packet, passes)
        } else if let Some(pool) = pool {
            Memory::of_queue(queue, cap, &mut self.pools[pool as usize], packet, passes)
        } else {
            Memory { passes, ..Memory::default() }
        };
        if let Some(reason) = memory.refused {
            return self.no_memory(now, (ingress, own, id), packet, (reason, memory.xoff), driver);
        }
        if verdict == Verdict::Mark {
            packet.ecn = Ecn::Ce;
            port.cold.marks += 1;
        }
        if memory.passes {
            let tell = queue.discipline.pass(now);
            classes.pass(index, bytes);
            port.count_entry(bytes);
            self.launch(now, id, packet, driver);
            return self.note_passed::<PLAIN, D>(now, id, index, tell.then_some(slot), packet, driver);
        }
        queue.held += memory.cells;
        let waiting = queue.ring.append();
        (waiting.since, waiting.packet, waiting.own) = (now, *packet, own);
        port.note_queued(index, slot, bytes, sending, busy);
        self.go_on_sending::<PLAIN, D>(now, id, pending, sending, driver);
        if !PLAIN && memory.xoff {
            self.signal(now, own, packet.class, driver);
        }
    }

    /// A packet has joined a queue of `id`: the transmitter is told, unless it is to come by anyhow.
    #[inline(always)]
    fn go_on_sending<const PLAIN: bool, D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        pending: bool,
        sending: bool,
        driver: &mut D,
    ) {
        let port = &self.ports[id.index()];
        let free_at = port.free_at;
        if !PLAIN && port.is(flag::FLUID) {
            self.fluid_entered(id);
        }
        if pending {
            return;
        }
        if sending {
            driver.schedule(free_at, PortEvent::Transmit(id));
        } else {
            self.transmit_next(now, id, driver);
        }
    }

    /// There is no memory for a packet that came by `ingress` and is to leave by `id`. PFC counts it for
    /// `own`, whose peer is to pause from now on if `xoff` says so.
    #[cold]
    fn no_memory<D: Driver<B>>(
        &mut self,
        now: Time,
        (ingress, own, id): (PortId, PortId, PortId),
        packet: &Packet<B>,
        (reason, xoff): (Discard, bool),
        driver: &mut D,
    ) {
        let port = match reason {
            Discard::Headroom => own,
            Discard::Pool if ingress != PortId::NONE => self.reverse(ingress),
            _ => id,
        };
        self.discard(now, port, packet, reason, driver);
        if xoff {
            self.signal(now, own, packet.class, driver);
        }
    }

    /// Queue `slot` of `id` has nothing left: it is idle when its last packet is sent.
    #[inline(always)]
    pub(crate) fn note_idle(&mut self, id: PortId, slot: usize) {
        let port = &mut self.ports[id.index()];
        let free_at = port.free_at;
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        classes.queue(slot).discipline.idle(free_at);
    }

    /// What remains to be done for a packet of class `index` that has gone through `id` without waiting;
    /// `idle` is the queue whose discipline is to know from when on it is.
    #[inline(always)]
    fn note_passed<const PLAIN: bool, D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        index: usize,
        idle: Option<usize>,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        if let Some(slot) = idle {
            self.note_idle(id, slot);
        }
        let flags = self.ports[id.index()].flags;
        if !PLAIN && flags & flag::CAPTURE != 0 {
            driver.sent(now, id, packet);
        }
        if !PLAIN && flags & flag::PAUSES != 0 {
            self.note_sent(now, id, index, driver);
        }
    }

    /// For a packet of `class` that came by `ingress` and leaves by `id`: the switch's port that PFC counts
    /// it for, and the one that it waits at.
    #[inline(always)]
    fn origin<const PLAIN: bool>(&self, id: PortId, ingress: PortId, class: u8) -> (PortId, PortId) {
        let port = &self.ports[id.index()];
        let entry = if port.is(flag::VOQ) && ingress != PortId::NONE { self.reverse(ingress) } else { id };
        if PLAIN || !port.is(flag::PAUSES) || ingress == PortId::NONE {
            return (PortId::NONE, entry);
        }
        let pfc = port.cold.classes.as_ref().and_then(|classes| classes.pfc);
        let counts = pfc.is_some_and(|pfc| self.pfcs[pfc as usize].covers(class));
        (if counts { self.reverse(ingress) } else { PortId::NONE }, entry)
    }
}

impl<B: Copy + Default> Port<B> {
    /// Whether the limit has no room for `bytes` more in class `index`, with so many bytes and packets of
    /// fluid.
    #[inline(always)]
    fn is_class_full<const PLAIN: bool>(&self, index: usize, bytes: u64, fluid: (u64, u32)) -> bool {
        let classes = self.cold.classes.as_ref().expect("a scheduled port has classes");
        let (all_bytes, all_packets) = if !PLAIN && classes.own_limits {
            (classes.queues[index].bytes, classes.queues[index].packets)
        } else {
            (self.waiting_bytes + fluid.0, self.waiting_packets + fluid.1)
        };
        self.is_full(all_bytes + bytes, all_packets)
    }

    /// Counts a packet that has joined queue `slot` of class `index`.
    #[inline(always)]
    fn note_queued(&mut self, index: usize, slot: usize, bytes: u64, sending: bool, busy: bool) {
        let classes = self.cold.classes.as_mut().expect("a scheduled port has classes");
        let stays = classes.pending || busy;
        classes.entered(index, slot, bytes);
        if stays {
            classes.note_length(index, slot);
        }
        classes.pending |= sending;
        self.waiting_bytes += bytes;
        self.waiting_packets += 1;
        self.count_entry(bytes);
        if stays {
            self.note_length();
        }
    }
}

/// What became of a packet that needs memory.
#[derive(Default)]
struct Memory {
    /// So many cells are taken for it.
    cells: u64,
    /// Nothing is taken: it goes by without waiting.
    passes: bool,
    /// The peer that it came from is to pause from now on.
    xoff: bool,
    refused: Option<Discard>,
}

impl Memory {
    /// Memory that PFC counts for the switch's port `own`.
    #[inline(always)]
    fn of_ingress<B>(
        pfc: &mut Pfc,
        pool: &mut Pool,
        own: PortId,
        packet: &Packet<B>,
        passes: bool,
    ) -> Memory {
        let cells = pool.cells(packet.bytes);
        if passes && pfc.pass(own, packet.class, cells, pool) {
            return Memory { cells, passes: true, ..Memory::default() };
        }
        let (room, xoff) = pfc.take(own, packet.class, cells, pool);
        Memory { cells, passes: false, xoff, refused: (!room).then_some(Discard::Headroom) }
    }

    /// Memory that is counted for the queue alone, which may hold up to `cap`.
    #[inline(always)]
    fn of_queue<B: Copy + Default>(
        queue: &ClassQueue<B>,
        cap: u64,
        pool: &mut Pool,
        packet: &Packet<B>,
        passes: bool,
    ) -> Memory {
        let cells = pool.cells(packet.bytes);
        let room = queue.room(cells, cap, pool);
        if let Ok(beyond) = room
            && !passes
        {
            pool.take(beyond);
        }
        Memory { cells, passes, xoff: false, refused: room.err() }
    }
}
