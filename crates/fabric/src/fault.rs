//! Faults of links: down and up, loss, damage, a change of rate.

use crate::aal5::CELL;
use crate::driver::Driver;
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::{Discard, Packet};
use crate::port::{Faults, flag};
use crate::wires::NONE;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use units::{Rate, Time};

impl<B: Copy + Default> Fabric<B> {
    /// Prepares one direction of a link for going down or changing its rate: the waits of packets that never
    /// leave, or leave at another time than it seems when they come, are right then.
    pub fn expect_changes(&mut self, id: PortId) {
        self.ports[id.index()].flags |= flag::CHANGES;
    }

    /// Takes one direction of a link down: what is queued or on the wire is lost, routes avoid it.
    pub fn take_down<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        if self.ports[id.index()].is(flag::DOWN) {
            return;
        }
        self.routing.set_up(id, false);
        self.abandon(now, id);
        let port = &mut self.ports[id.index()];
        port.flags |= flag::DOWN;
        let slots: Vec<u32> = self.wires.chain(port.first).collect();
        port.first = NONE;
        let mut lost: Vec<Packet<B>> = slots.into_iter().map(|slot| *self.wires.take(slot)).collect();
        self.forget_pauses(now, id, driver);
        self.take_cells_down(now, id);
        lost.extend(self.drain_classes(now, id, driver));
        self.fluid_drained(id);
        let port = &mut self.ports[id.index()];
        port.clear_queue();
        port.free_at = now;
        for packet in lost {
            self.discard(now, id, &packet, Discard::Down, driver);
        }
    }

    /// Takes back the counts of what has not begun to leave `id`, whose link goes down.
    fn abandon(&mut self, now: Time, id: PortId) {
        let port = &mut self.ports[id.index()];
        // A packet that never leaves has no wait.
        port.note_waits_over(now);
        port.cold.to_wait.clear();
        if !port.is(flag::SCHEDULED) {
            port.start_beside_fluid(&self.wires.slots, now);
        }
        if self.ports[id.index()].cold.cells.is_some() {
            let abandoned = self.late_cells(now, id);
            return self.ports[id.index()].abandon(abandoned, 0, Time::ZERO);
        }
        let port = &self.ports[id.index()];
        let sent = |slot: u32| self.wires[slot].arrive - port.delay;
        let begun = self.wires.chain(port.first).take_while(|&slot| slot != port.waiting).last();
        let left = begun.map_or(Time::ZERO, |slot| sent(slot).saturating_sub(now));
        let waiting = self.waiting_on_wire(id);
        let port = &mut self.ports[id.index()];
        port.abandon((u64::from(port.waiting_packets), port.waiting_bytes), waiting, left);
    }

    /// Bytes on the wire of the packets that wait in a first-in first-out queue.
    pub(crate) fn waiting_on_wire(&self, id: PortId) -> u64 {
        let waiting = self.wires.chain(self.ports[id.index()].waiting);
        waiting.map(|slot| u64::from(self.bytes_on_wire(id, &self.wires[slot].packet))).sum()
    }

    /// What a packet takes on the link of `id`.
    fn bytes_on_wire(&self, id: PortId, packet: &Packet<B>) -> u32 {
        if !self.ports[id.index()].is(flag::CELLS) {
            return self.framing.wire_bytes(packet.bytes);
        }
        let (ahead, _) = self.routing.next(packet.route);
        let queue = self.ports[ahead.index()].cold.cells.as_ref();
        queue.expect("a link of cells leads to their switch").cells(packet.bytes) * CELL
    }

    /// Brings one direction of a link up again.
    pub fn bring_up(&mut self, now: Time, id: PortId) {
        let port = &mut self.ports[id.index()];
        port.flags &= !flag::DOWN;
        if let Some(cells) = &mut port.cold.cells {
            cells.open(now);
        }
        self.routing.set_up(id, true);
    }

    /// Packets vanish on the link with probability `p`.
    pub fn set_loss(&mut self, id: PortId, p: f64, seed: u64) {
        self.faults(id).loss = chance(p);
        self.refresh_faults(id, seed);
    }

    /// Packets arrive damaged with probability `p`, and are discarded there.
    pub fn set_corrupt(&mut self, id: PortId, p: f64, seed: u64) {
        self.faults(id).corrupt = chance(p);
        self.refresh_faults(id, seed);
    }

    fn faults(&mut self, id: PortId) -> &mut Faults {
        self.ports[id.index()].cold.faults.get_or_insert_default()
    }

    fn refresh_faults(&mut self, id: PortId, seed: u64) {
        let faults = self.faults(id);
        faults.rng.get_or_insert_with(|| Pcg32::seed_from_u64(seed ^ (u64::from(id.0) << 20)));
        let any = faults.loss + faults.corrupt > 0;
        let port = &mut self.ports[id.index()];
        if any {
            port.flags |= flag::FAULTY;
        } else {
            port.flags &= !flag::FAULTY;
        }
    }

    /// Changes the rate of one direction of a link. The packet that is being sent ends as it began. Links of
    /// cells keep their rate, which is that of all links of the switch.
    pub fn set_rate<D: Driver<B>>(&mut self, now: Time, id: PortId, rate: Rate, driver: &mut D) {
        let framing = self.framing;
        let port = &mut self.ports[id.index()];
        if port.is(flag::CELLS) {
            return;
        }
        if port.is(flag::SCHEDULED) {
            return port.set_rate(rate, 0);
        }
        port.start_beside_fluid(&self.wires.slots, now);
        let waiting = self.waiting_on_wire(id);
        let port = &mut self.ports[id.index()];
        port.set_rate(rate, waiting);
        if port.waiting == NONE {
            return;
        }
        // Those that wait begin when the one before them ends, now at the new rate.
        let (mut slot, mut start) = (port.waiting, port.due);
        while slot != NONE {
            let wire = &mut self.wires[slot];
            start += port.serializer.time_for(framing.wire_bytes(wire.packet.bytes));
            wire.arrive = start + port.delay;
            slot = wire.next;
            wire.next_start = if slot == NONE { Time::MAX } else { start };
        }
        port.free_at = start;
        port.note_waits_over(now);
        let starts = self.starts(id);
        let port = &mut self.ports[id.index()];
        for (waiting, start) in port.cold.to_wait.iter_mut().zip(starts) {
            *waiting = (start, (waiting.1 + start) - waiting.0);
        }
        port.schedule_arrival(self.wires[port.first].arrive, id, driver);
    }

    /// Whether an injected fault takes `packet`, which has come to the far end of `id`.
    #[cold]
    pub(crate) fn hit_by_fault<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) -> bool {
        let faults = self.faults(id);
        let draw = u64::from(faults.rng.as_mut().expect("a faulty link has its draws").next_u32());
        let (loss, corrupt) = (faults.loss, faults.corrupt);
        if draw < loss {
            self.discard(now, id, packet, Discard::Lost, driver);
        } else if draw < loss.saturating_add(corrupt) {
            // Seen by the interface at the far end, whose own port is the reverse one.
            self.discard(now, self.reverse(id), packet, Discard::Corrupt, driver);
        } else {
            return false;
        }
        true
    }
}

/// A probability as a chance out of 2³².
fn chance(p: f64) -> u64 {
    (p.clamp(0.0, 1.0) * (1u64 << 32) as f64) as u64
}
