//! A port: one direction of a link, with the queue in front of it.
//!
//! A port takes two cache lines, which are all that packets need, whether they wait or not; what few need is
//! boxed. Limits and records are at hand in 32 bits; those that need more are in [`Cold`]. A port's histogram
//! of waits is told of several at a time.

use crate::cells::CellQueue;
use crate::classes::Classes;
use crate::counters::{Counters, Discards, Sample};
use crate::discipline::Discipline;
use crate::driver::{Driver, PortEvent};
use crate::fluid::Fluid;
use crate::ids::{NodeId, PortId};
use crate::packet::Discard;
use crate::pause::Pausing;
use crate::topology::LinkProps;
use crate::waits::{Untold, WaitTimes, Waits};
use crate::wires::{NONE, Wire};
use rand_pcg::Pcg32;
use std::collections::VecDeque;
use units::{Rate, Serializer, Time};

/// What takes a packet off the short way through a port.
pub(crate) mod flag {
    /// The far end is a host.
    pub const TO_HOST: u32 = 1;
    /// Classes or shared memory: packets leave by [`crate::Fabric::transmit`].
    pub const SCHEDULED: u32 = 1 << 1;
    /// RED on a first-in first-out port.
    pub const RED: u32 = 1 << 2;
    /// The link is down.
    pub const DOWN: u32 = 1 << 3;
    /// Packets are lost or damaged on the link.
    pub const FAULTY: u32 = 1 << 4;
    /// Some host sends packets larger than the link takes.
    pub const NARROW: u32 = 1 << 5;
    /// The driver wants to see each packet.
    pub const CAPTURE: u32 = 1 << 6;
    /// Virtual output queues (a kind of scheduled port).
    pub const VOQ: u32 = 1 << 10;
    /// Traffic as a fluid crosses the port.
    pub const FLUID: u32 = 1 << 11;
    /// PAUSE frames are sent and received here.
    pub const PAUSES: u32 = 1 << 7;
    /// A discipline decides when packets leave (a kind of scheduled port).
    pub const LEAVING: u32 = 1 << 8;
    /// One class, and no packet that finds it empty is dropped or marked (a kind of scheduled port).
    pub const OPEN: u32 = 1 << 9;
    /// The link carries cells.
    pub const CELLS: u32 = 1 << 12;
    /// The link will go down or change its rate: a wait is known when it is over, not when it begins.
    pub const CHANGES: u32 = 1 << 13;
    /// The far end is simulated elsewhere: packets are handed over before they arrive.
    pub const CUT: u32 = 1 << 14;
    /// Any of these: the long way into the queue.
    pub const ENTRY: u32 = SCHEDULED | RED | DOWN | NARROW | CAPTURE | FLUID | CELLS;
    /// Any of these: more to look at than the queues of a scheduled port.
    pub const UNUSUAL: u32 = DOWN | NARROW | CAPTURE | FLUID | PAUSES | LEAVING | CELLS;
}

#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Port<B> {
    /// First and last of the [packets](Wire) on the wire and, at first-in first-out ports, in the queue.
    pub first: u32,
    pub last: u32,
    /// First-in first-out ports: the first packet whose sending has not begun.
    pub waiting: u32,
    pub flags: u32,
    /// Packets and bytes in the queue.
    pub waiting_packets: u32,
    max_packets: u32,
    pub waiting_bytes: u64,
    /// When the sending of the first that waits begins; never, while none does.
    pub due: Time,
    /// When the transmitter is free.
    pub free_at: Time,
    pub serializer: Serializer,
    pub delay: Time,

    // Sums lie apart: side by side they would be added to as a vector, which takes longer.
    limit_bytes: u32,
    pub limit_packets: u32,
    pub enqueued_bytes: u64,
    mark_bytes: u32,
    pub mark_packets: u32,
    pub enqueued_packets: u64,
    max_bytes: u32,
    longest_wait: u32,
    pub wire_bytes: u64,
    /// Waits that the histogram has not been told of.
    untold: Untold,
    pub cold: Box<Cold<B>>,
}

/// What packets rarely need.
#[derive(Debug)]
pub(crate) struct Cold<B> {
    pub limit_bytes: u64,
    pub mark_bytes: u64,
    max_bytes: u64,
    /// Longest queue in bytes and packets before the watermarks were last restarted.
    longest_before: (u64, u32),
    longest_wait: Time,
    waits: Waits,
    /// Packets that were counted without being there.
    pub passed_over: u64,
    pub marks: u64,
    pub owner: NodeId,
    pub peer: NodeId,
    pub reverse: PortId,
    pub rate: Rate,
    pub mtu: u32,
    pub discards: Option<Box<Discards>>,
    /// Busy time and wire bytes up to the last change of rate or fault.
    pub busy_before: (Time, u64),
    /// Packets and bytes that were let into the queue, and lost there when the link went down.
    pub abandoned: (u64, u64),
    /// Ports with [`flag::CHANGES`]: when the sending of each packet begins that waits, and how long it waits
    /// by then.
    pub to_wait: VecDeque<(Time, Time)>,
    /// RED of a first-in first-out port.
    pub discipline: Discipline,
    /// Of ports with [`flag::SCHEDULED`].
    pub classes: Option<Box<Classes<B>>>,
    /// Of ports with [`flag::PAUSES`].
    pub pausing: Option<Box<Pausing>>,
    /// Of ports that have been [`flag::FAULTY`].
    pub faults: Option<Box<Faults>>,
    pub fluid: Option<Box<Fluid>>,
    /// Of the ports of a switch of cells.
    pub cells: Option<Box<CellQueue>>,
}

/// Injected faults of a link: chances out of 2³².
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub loss: u64,
    pub corrupt: u64,
    pub rng: Option<Pcg32>,
}

impl<B: Copy + Default> Port<B> {
    pub(crate) fn new(owner: NodeId, peer: NodeId, reverse: PortId, props: LinkProps) -> Port<B> {
        Port {
            first: NONE,
            last: NONE,
            waiting: NONE,
            flags: 0,
            waiting_packets: 0,
            max_packets: 0,
            waiting_bytes: 0,
            due: Time::MAX,
            free_at: Time::ZERO,
            serializer: props.rate.serializer(),
            delay: props.delay,
            limit_bytes: u32::MAX,
            mark_bytes: u32::MAX,
            limit_packets: u32::MAX,
            mark_packets: u32::MAX,
            max_bytes: 0,
            longest_wait: 0,
            enqueued_packets: 0,
            enqueued_bytes: 0,
            wire_bytes: 0,
            untold: Untold::default(),
            cold: Box::new(Cold {
                limit_bytes: u64::MAX,
                mark_bytes: u64::MAX,
                max_bytes: 0,
                longest_before: (0, 0),
                longest_wait: Time::ZERO,
                waits: Waits::default(),
                passed_over: 0,
                marks: 0,
                owner,
                peer,
                reverse,
                rate: props.rate,
                mtu: props.mtu,
                discards: None,
                busy_before: (Time::ZERO, 0),
                abandoned: (0, 0),
                to_wait: VecDeque::new(),
                discipline: Discipline::Tail,
                classes: None,
                pausing: None,
                faults: None,
                fluid: None,
                cells: None,
            }),
        }
    }

    #[inline]
    pub(crate) fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Lets packets whose sending has begun by `now` leave the queue (first-in first-out ports).
    #[inline]
    pub(crate) fn start_due(&mut self, wires: &[Wire<B>], now: Time) {
        while self.due <= now {
            self.leave_queue(&wires[self.waiting as usize]);
        }
    }

    /// The sending of `wire`, the first that waits, has begun.
    #[inline(always)]
    pub(crate) fn leave_queue(&mut self, wire: &Wire<B>) {
        self.waiting_bytes -= u64::from(wire.packet.bytes);
        self.waiting_packets -= 1;
        (self.waiting, self.due) = (wire.next, wire.next_start);
    }

    /// Puts the packet in `slot`, whose sending begins at `start`, behind those that wait.
    #[inline(always)]
    pub(crate) fn join_queue(&mut self, slot: u32, start: Time, bytes: u64) {
        self.waiting_bytes += bytes;
        self.waiting_packets += 1;
        if self.waiting == NONE {
            (self.waiting, self.due) = (slot, start);
        }
    }

    /// Nobody waits.
    #[inline(always)]
    pub(crate) fn clear_queue(&mut self) {
        (self.waiting, self.due, self.waiting_packets, self.waiting_bytes) = (NONE, Time::MAX, 0, 0);
    }

    /// Limits the queue.
    pub(crate) fn limit(&mut self, (bytes, packets): (u64, u32)) {
        (self.limit_bytes, self.cold.limit_bytes, self.limit_packets) = (cut(bytes), bytes, packets);
    }

    /// Marks packets that find more than so much in the queue.
    pub(crate) fn mark_above(&mut self, (bytes, packets): (u64, u32)) {
        (self.mark_bytes, self.cold.mark_bytes, self.mark_packets) = (cut(bytes), bytes, packets);
    }

    /// Whether a queue of `packets` has no room for another, with which it would hold `bytes`.
    #[inline(always)]
    pub(crate) fn is_full(&self, bytes: u64, packets: u32) -> bool {
        (bytes > u64::from(self.limit_bytes) && bytes > self.cold.limit_bytes)
            || packets >= self.limit_packets
    }

    /// Whether packets that find the queue as it is are marked.
    #[inline(always)]
    pub(crate) fn marks(&self) -> bool {
        let bytes = self.waiting_bytes;
        (bytes > u64::from(self.mark_bytes) && bytes > self.cold.mark_bytes)
            || self.waiting_packets > self.mark_packets
    }

    /// Puts the packet in `slot` on the wire from `start` on. Returns when its last bit arrives, if no other
    /// packet is before it: then that is to be scheduled.
    #[inline(always)]
    pub(crate) fn launch(
        &mut self,
        wires: &mut [Wire<B>],
        start: Time,
        wire_bytes: u32,
        slot: u32,
    ) -> Option<Time> {
        let end = start + self.serializer.time_for(wire_bytes);
        self.free_at = end;
        self.wire_bytes += u64::from(wire_bytes);
        self.append(wires, start, end + self.delay, slot)
    }

    /// Puts the packet in `slot` behind all others on the wire: sent from `start` on, it arrives at `arrive`.
    #[inline(always)]
    pub(crate) fn append(
        &mut self,
        wires: &mut [Wire<B>],
        start: Time,
        arrive: Time,
        slot: u32,
    ) -> Option<Time> {
        let wire = &mut wires[slot as usize];
        (wire.arrive, wire.next, wire.next_start) = (arrive, NONE, Time::MAX);
        let last = std::mem::replace(&mut self.last, slot);
        if self.first == NONE {
            self.first = slot;
            return Some(arrive);
        }
        let last = &mut wires[last as usize];
        (last.next, last.next_start) = (slot, start);
        None
    }

    /// Has the driver called when the first packet on the wire of this port, `id`, arrives, or leaves for
    /// another part of the network.
    #[inline(always)]
    pub(crate) fn schedule_arrival<D: Driver<B>>(&self, at: Time, id: PortId, driver: &mut D) {
        let event = if self.is(flag::CUT) { PortEvent::HandOver(id) } else { PortEvent::Arrive(id) };
        driver.schedule(at, event);
    }

    /// Counts a packet that is let into the queue.
    #[inline]
    pub(crate) fn count_entry(&mut self, bytes: u64) {
        self.enqueued_packets += 1;
        self.enqueued_bytes += bytes;
    }

    /// Takes back the count of a packet that the queue has dropped after it was let in.
    pub(crate) fn uncount_entry(&mut self, bytes: u64) {
        self.enqueued_packets -= 1;
        self.enqueued_bytes -= bytes;
    }

    /// Notes the length of the queue.
    #[inline(always)]
    pub(crate) fn note_length(&mut self) {
        if self.is_longest() {
            self.note_longest();
        }
    }

    /// Notes that a packet waits for so long, and the length of the queue with it.
    #[inline(always)]
    pub(crate) fn note_wait(&mut self, wait: Time) {
        self.untold.add(wait);
        if self.untold.is_full() || wait.as_ps() > u64::from(self.longest_wait) || self.is_longest() {
            self.note_unusual(wait);
        }
    }

    /// Notes that a packet which has come at `now` is to wait until `start` (first-in first-out ports).
    #[inline(always)]
    pub(crate) fn note_wait_until(&mut self, now: Time, start: Time) {
        if self.is(flag::CHANGES) {
            return self.keep_wait(now, start);
        }
        self.note_wait(start - now);
    }

    #[cold]
    fn keep_wait(&mut self, now: Time, start: Time) {
        self.note_length();
        self.note_waits_over(now);
        self.cold.to_wait.push_back((start, start - now));
    }

    /// Notes the waits that are over by `now`.
    pub(crate) fn note_waits_over(&mut self, now: Time) {
        while let Some((_, wait)) = self.cold.to_wait.pop_front_if(|(start, _)| *start <= now) {
            self.note_wait(wait);
        }
    }

    #[inline(always)]
    fn is_longest(&self) -> bool {
        self.waiting_packets > self.max_packets || self.waiting_bytes > u64::from(self.max_bytes)
    }

    /// Notes what may be a record, and tells the histogram of waits when it is time.
    #[inline(never)]
    fn note_unusual(&mut self, wait: Time) {
        self.note_longest();
        if wait.as_ps() > u64::from(self.longest_wait) {
            self.longest_wait = cut(wait.as_ps());
            if self.longest_wait == u32::MAX {
                self.cold.longest_wait = self.cold.longest_wait.max(wait);
            }
        }
        if self.untold.is_full() {
            self.cold.waits.take(&mut self.untold);
        }
    }

    #[inline(never)]
    fn note_longest(&mut self) {
        self.max_packets = self.max_packets.max(self.waiting_packets);
        self.note_bytes(self.waiting_bytes);
    }

    /// Notes a queue of so many bytes.
    pub(crate) fn note_bytes(&mut self, bytes: u64) {
        self.max_bytes = self.max_bytes.max(cut(bytes));
        if self.max_bytes == u32::MAX {
            self.cold.max_bytes = self.cold.max_bytes.max(bytes);
        }
    }

    fn recent_longest(&self) -> u64 {
        exact(self.max_bytes, self.cold.max_bytes)
    }

    /// Begins a new interval for the longest queue, with `bytes` in it.
    pub(crate) fn restart_longest(&mut self, bytes: u64) {
        let before = &mut self.cold.longest_before;
        *before = (before.0.max(exact(self.max_bytes, self.cold.max_bytes)), before.1.max(self.max_packets));
        (self.max_bytes, self.cold.max_bytes, self.max_packets) = (0, 0, self.waiting_packets);
        self.note_bytes(bytes);
    }

    /// Waits of the port's packets, most of which may not have waited; those that are still to wait count
    /// too.
    pub(crate) fn waits(&mut self) -> WaitTimes<'_> {
        self.note_waits_over(Time::MAX);
        let cold = &mut *self.cold;
        cold.waits.take(&mut self.untold);
        let longest = exact(self.longest_wait, cold.longest_wait.as_ps());
        cold.waits.among(self.enqueued_packets - cold.abandoned.0 - cold.passed_over, Time::from_ps(longest))
    }

    pub(crate) fn discard(&mut self, reason: Discard) {
        self.cold.discards.get_or_insert_default().count(reason);
    }

    pub(crate) fn discards(&self) -> Discards {
        self.cold.discards.as_deref().copied().unwrap_or_default()
    }

    /// Changes the rate; `waiting` bytes on the wire have been counted and are not sent yet.
    pub(crate) fn set_rate(&mut self, rate: Rate, waiting: u64) {
        self.wire_bytes -= waiting;
        self.cold.busy_before = (self.busy(), self.wire_bytes);
        self.wire_bytes += waiting;
        self.cold.rate = rate;
        self.serializer = rate.serializer();
    }

    fn busy(&self) -> Time {
        let (before, bytes) = self.cold.busy_before;
        before + self.cold.rate.time_for(units::Bytes::new(self.wire_bytes - bytes))
    }

    /// The link goes down: all that waits is abandoned, and of the packet that is being sent `left` is not
    /// sent. `waiting` bytes on the wire of what waits have been counted.
    pub(crate) fn abandon(&mut self, (packets, bytes): (u64, u64), waiting: u64, left: Time) {
        self.cold.abandoned.0 += packets;
        self.cold.abandoned.1 += bytes;
        self.wire_bytes -= waiting;
        self.cold.busy_before = (self.busy().saturating_sub(left), self.wire_bytes);
    }

    fn sent_bytes(&self) -> u64 {
        self.enqueued_bytes - self.cold.abandoned.1 - self.waiting_bytes
    }

    pub(crate) fn counters(&self) -> Counters {
        let enqueued_packets = self.enqueued_packets - self.cold.abandoned.0;
        Counters {
            enqueued_packets,
            abandoned_packets: self.cold.abandoned.0,
            sent_packets: enqueued_packets - u64::from(self.waiting_packets),
            sent_bytes: self.sent_bytes(),
            wire_bytes: self.wire_bytes,
            busy: self.busy(),
            marks: self.cold.marks,
            discards: self.discards(),
            queue_max_bytes: self.cold.longest_before.0.max(self.recent_longest()),
            queue_max_packets: self.cold.longest_before.1.max(self.max_packets),
            voq_max_bytes: self.cold.classes.as_ref().and_then(|classes| classes.longest_voq()),
            fluid: Default::default(),
            cells: None,
        }
    }

    pub(crate) fn sample(&self, now: Time) -> Sample {
        let (pausing, discards) = (self.cold.pausing.as_deref(), self.discards());
        Sample {
            queue_bytes: self.waiting_bytes,
            queue_packets: self.waiting_packets,
            queue_max_bytes: self.recent_longest(),
            sent_bytes: self.sent_bytes(),
            discards: discards.total(),
            in_discards: discards.inbound(),
            out_discards: discards.outbound(),
            marks: self.cold.marks,
            pause_sent: pausing.map_or(0, |pausing| pausing.frames_sent),
            pause_received: pausing.map_or(0, |pausing| pausing.frames_received),
            paused: pausing.map_or(Time::ZERO, |pausing| pausing.paused_any(now)),
        }
    }
}

/// What of a limit or record is kept at hand; the greatest says that [`Cold`] has the exact one.
fn cut(exact: u64) -> u32 {
    u32::try_from(exact).unwrap_or(u32::MAX)
}

fn exact(at_hand: u32, cold: u64) -> u64 {
    if at_hand == u32::MAX { cold } else { u64::from(at_hand) }
}
