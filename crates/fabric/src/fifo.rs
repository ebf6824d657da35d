//! The short way through a port: one first-in first-out queue with memory of its own.
//!
//! When a packet enters such a queue, the time at which it leaves is already certain, so one event a
//! hop is exact: packets go straight onto the wire with a start in the future, and the queue's
//! length at any time is what has not started by then. Ports with classes, shared memory or pauses
//! can't know the future and go the long way in `scheduled.rs`.

use crate::config::Framing;
use crate::driver::Driver;
use crate::ids::PortId;
use crate::packet::{Discard, Ecn};
use crate::port::{Port, flag};
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
                self.schedule_arrival(arrive, id, driver);
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
            self.schedule_arrival(arrive, id, driver);
        }
        Entered::Queued
    }
}
