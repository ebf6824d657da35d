//! The way out of a scheduled port: the transmitter is free, and a scheduler (`classes.rs`, `voq.rs`) or a
//! discipline (CoDel) says what it sends next. The way in is in `scheduled.rs`.

use crate::classes::Classes;
use crate::driver::{Driver, PortEvent};
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::{Discard, Ecn, Packet, Verdict};
use crate::port::flag;
use crate::queue::Waiting;
use units::Time;

impl<B: Copy + Default> Fabric<B> {
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

    /// Sends the next packet of a port with nothing of [`flag::UNUSUAL`]: from the queue's memory to the
    /// wire's.
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
        let packet = self.wires.insert(&first.packet).0;
        if let Some(pool) = pool {
            let pool = &mut self.pools[pool as usize];
            let cells = pool.cells(bytes);
            pool.give(queue.held, cells);
            queue.held -= cells;
        }
        let emptied = queue.packets == 1;
        classes.left(index, slot, u64::from(bytes));
        if let Some(voqs) = &mut classes.voqs {
            voqs.served(index, slot, u64::from(bytes));
        }
        port.waiting_bytes -= u64::from(bytes);
        port.waiting_packets -= 1;
        let more = port.waiting_packets > 0;
        classes.pending = more;
        if since != now {
            port.note_wait(now - since);
        }
        if let Some(arrive) = port.launch(&mut self.wires.slots, now, framing.wire_bytes(bytes), packet) {
            port.schedule_arrival(arrive, id, driver);
        }
        if more {
            driver.schedule(port.free_at, PortEvent::Transmit(id));
        }
        if emptied {
            self.note_idle(id, slot);
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
        let port = &mut self.ports[id.index()];
        let flags = port.flags;
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let Some(index) = classes.select() else { return };
        let slot = classes.next_slot(index);
        let mut start = now;
        if flags & flag::FLUID != 0 {
            start += self.fluid_leaves(now, id);
        }
        let mut waiting = self.take_first(id, index, slot);
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
        let emptied = classes.queue(slot).packets == 0;
        let more = port.waiting_packets > 0;
        classes.pending |= more;
        if since != start {
            port.note_wait(start - since);
        }
        self.launch(start, id, &packet, driver);
        if emptied {
            self.note_idle(id, slot);
        }
        if more {
            driver.schedule(self.ports[id.index()].free_at, PortEvent::Transmit(id));
        }
        if flags & flag::CAPTURE != 0 {
            driver.sent(start, id, &packet);
        }
        if flags & flag::PAUSES != 0 {
            self.note_sent(now, id, index, driver);
            self.release(now, own, &packet, driver);
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
    fn take_first(&mut self, id: PortId, index: usize, slot: usize) -> Waiting<B> {
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let waiting = classes.queue(slot).ring.pop().expect("a selected queue has a packet");
        let bytes = u64::from(waiting.packet.bytes);
        classes.give(slot, &waiting, &mut self.pools);
        classes.left(index, slot, bytes);
        port.waiting_bytes -= bytes;
        port.waiting_packets -= 1;
        waiting
    }

    /// What the discipline of `slot` says to a packet that leaves.
    fn says_on_leaving(&mut self, now: Time, id: PortId, slot: usize, waiting: &Waiting<B>) -> Verdict {
        let queue = self.classes(id).queue(slot);
        let capable = waiting.packet.ecn != Ecn::NotEct;
        queue.discipline.leave(now, now - waiting.since, queue.bytes, capable)
    }

    /// The discipline drops `first`, which would have left at `start`: the next one, and what it says to
    /// that.
    #[cold]
    #[allow(clippy::too_many_arguments, reason = "where the packet is, when, and the driver that is told")]
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
        let waiting = self.take_first(id, index, slot);
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
