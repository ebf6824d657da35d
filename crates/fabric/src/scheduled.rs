//! Ports whose next packet can't be known in advance: eight traffic classes under enhanced
//! transmission selection (802.1Qaz: strict priority, and deficit round robin of Shreedhar &
//! Varghese 1996 for the rest), or memory shared with other ports.
//!
//! Packets wait in a queue a class; [`Fabric::transmit`] picks the next when the transmitter is
//! free, and only then is its memory given back. It costs a second event for a packet that waits.

use crate::discipline::{Discipline, Verdict};
use crate::fabric::{Driver, Fabric, PortEvent};
use crate::packet::{Discard, Ecn, Packet};
use crate::port::{PortId, flag};
use crate::ring::Ring;
use units::Time;

/// Bytes that a weight of 1 may send a round: a full Ethernet payload, so that a turn sends a packet.
const QUANTUM: u64 = 1500;

/// A packet in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting<B> {
    since: Time,
    packet: Packet<B>,
}

/// Where a packet waits: type-erased per port by [`Queues`].
#[derive(Debug)]
pub(crate) struct ClassQueue {
    pub discipline: Discipline,
    /// Memory held, in whole cells.
    pub held: u64,
    pub bytes: u64,
    pub packets: u32,
    deficit: u64,
}

/// The classes of a port.
#[derive(Debug)]
pub(crate) struct Classes {
    pub queues: Vec<ClassQueue>,
    /// Index of the switch's pool, if it shares memory.
    pub pool: Option<u32>,
    strict: u8,
    weights: [u32; 8],
    turn: usize,
    /// The class whose turn it is has had its quantum.
    credited: bool,
    /// An event to transmit is under way.
    pub pending: bool,
}

impl Classes {
    /// One queue for all classes, or eight.
    pub(crate) fn new(
        disciplines: Vec<Discipline>,
        strict: u8,
        weights: [u32; 8],
        pool: Option<u32>,
    ) -> Classes {
        let queue = |discipline| ClassQueue { discipline, held: 0, bytes: 0, packets: 0, deficit: 0 };
        Classes {
            queues: disciplines.into_iter().map(queue).collect(),
            pool,
            strict,
            weights,
            turn: 0,
            credited: false,
            pending: false,
        }
    }

    fn index(&self, class: u8) -> usize {
        usize::from(class) % self.queues.len()
    }

    /// The class to serve next; `head` tells the length of a queue's first packet.
    fn select(&mut self, head: impl Fn(usize) -> u64) -> Option<usize> {
        if self.queues.iter().all(|queue| queue.packets == 0) {
            return None;
        }
        if self.queues.len() == 1 {
            return Some(0);
        }
        let strict = (0..8).rev().find(|&c| self.strict & (1 << c) != 0 && self.queues[c].packets > 0);
        Some(strict.unwrap_or_else(|| self.round_robin(head)))
    }

    fn round_robin(&mut self, head: impl Fn(usize) -> u64) -> usize {
        loop {
            let class = self.turn;
            let queue = &mut self.queues[class];
            if queue.packets == 0 || self.strict & (1 << class) != 0 {
                queue.deficit = 0;
            } else {
                if !self.credited {
                    queue.deficit += u64::from(self.weights[class].max(1)) * QUANTUM;
                    self.credited = true;
                }
                let bytes = head(class);
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
        let (limit_bytes, limit_packets) = (port.limit_bytes, port.limit_packets);
        let (all_bytes, all_packets) = (port.waiting_bytes, port.scheduled_packets);
        let busy = port.free_at > now;
        let classes = port.cold.classes.as_mut().expect("a scheduled port has classes");
        let index = classes.index(packet.class);
        let queue = &mut classes.queues[index];
        let bytes = u64::from(packet.bytes);
        if busy && (all_bytes + bytes > limit_bytes || all_packets >= limit_packets) {
            return self.discard(now, id, packet, Discard::Tail, driver);
        }
        if queue.packets == 0 {
            queue.discipline.idle(now);
        }
        let verdict = queue.discipline.admit(now, queue.bytes, queue.packets, packet.ecn != Ecn::NotEct);
        if verdict == Verdict::Drop {
            return self.discard(now, id, packet, Discard::Early, driver);
        }
        if let Some(pool) = classes.pool {
            let pool = &mut self.pools[pool as usize];
            let cells = pool.cells(packet.bytes);
            if let Err(reason) = pool.take(queue.held, cells) {
                let blamed = reason == Discard::Pool && ingress != PortId::NONE;
                let port = if blamed { self.reverse(ingress) } else { id };
                return self.discard(now, port, packet, reason, driver);
            }
            queue.held += cells;
        }
        queue.bytes += bytes;
        queue.packets += 1;
        if verdict == Verdict::Mark {
            packet.ecn = Ecn::Ce;
            port.cold.marks += 1;
        }
        let pending = classes.pending;
        port.waiting_bytes += bytes;
        port.scheduled_packets += 1;
        port.count_entry(bytes);
        let queues = &mut self.queues[id.index()];
        if queues.len() <= index {
            queues.resize_with(index + 1, Ring::default);
        }
        queues[index].push(Waiting { since: now, packet });
        if pending {
            self.ports[id.index()].note_length();
        } else if busy {
            self.ports[id.index()].note_length();
            self.ask_to_transmit(id, driver);
        } else {
            self.transmit_next(now, id, driver);
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
        self.transmit_next(now, id, driver);
    }

    pub(crate) fn ask_to_transmit<D: Driver<B>>(&mut self, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        port.cold.classes.as_mut().expect("a scheduled port").pending = true;
        driver.schedule(port.free_at, PortEvent::Transmit(id));
    }

    fn transmit_next<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let queues = &mut self.queues[id.index()];
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        let head = |class: usize| u64::from(queues[class].front().map_or(0, |waiting| waiting.packet.bytes));
        let Some(index) = classes.select(head) else { return };
        let Waiting { since, packet } = queues[index].pop().expect("a selected class has a packet");
        let queue = &mut classes.queues[index];
        let bytes = u64::from(packet.bytes);
        queue.bytes -= bytes;
        queue.packets -= 1;
        if queue.packets == 0 {
            queue.discipline.idle(now);
        }
        if let Some(pool) = classes.pool {
            let pool = &mut self.pools[pool as usize];
            let cells = pool.cells(packet.bytes);
            pool.give(queue.held, cells);
            queue.held -= cells;
        }
        port.waiting_bytes -= bytes;
        port.scheduled_packets -= 1;
        if since != now {
            port.cold.waits.add(now - since);
        }
        let was_empty = port.wire.is_empty();
        let more = port.scheduled_packets > 0;
        let arrive = port.launch(now, self.framing.wire_bytes(packet.bytes), packet);
        port.waiting = port.wire.tail();
        if was_empty {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        if port.is(flag::CAPTURE) {
            driver.sent(now, id, &packet);
        }
        if more {
            self.ask_to_transmit(id, driver);
        }
    }

    /// Empties the queues of a port whose link went down.
    pub(crate) fn drain_classes(&mut self, id: PortId) -> Vec<Packet<B>> {
        let Some(classes) = self.ports[id.index()].cold.classes.as_mut() else { return Vec::new() };
        let mut lost = Vec::new();
        for (queue, ring) in classes.queues.iter_mut().zip(&mut self.queues[id.index()]) {
            while let Some(waiting) = ring.pop() {
                if let Some(pool) = classes.pool {
                    let pool = &mut self.pools[pool as usize];
                    let cells = pool.cells(waiting.packet.bytes);
                    pool.give(queue.held, cells);
                    queue.held -= cells;
                }
                lost.push(waiting.packet);
            }
            (queue.bytes, queue.packets, queue.deficit) = (0, 0, 0);
        }
        classes.pending = false;
        lost
    }
}
