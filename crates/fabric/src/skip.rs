//! What lets a driver pass over a stretch of time in which ports do the same again and again: all that is
//! under way there moves on, and they count what they would have done meanwhile.
//!
//! Not for networks with PFC, cells or fluid, whose clocks are elsewhere; and not where chance decides what
//! is lost, since what is rare may not have come.

use crate::counters::Discards;
use crate::discipline::Discipline;
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::port::{Port, flag};
use crate::wires::NONE;
use units::Time;

/// What a port counts, whatever waits there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    packets: u64,
    bytes: u64,
    wire_bytes: u64,
    marks: u64,
    discards: Discards,
}

impl Passed {
    /// Packets.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// `each` of what came since `before`.
    pub fn since(&self, before: &Passed, each: impl Fn(u64) -> u64) -> Passed {
        Passed {
            packets: each(self.packets - before.packets),
            bytes: each(self.bytes - before.bytes),
            wire_bytes: each(self.wire_bytes - before.wire_bytes),
            marks: each(self.marks - before.marks),
            discards: self.discards.since(&before.discards, each),
        }
    }
}

impl<B: Copy + Default> Fabric<B> {
    /// What of the network has clocks that can't be [moved](Fabric::shift), if anything.
    pub fn obstacle_to_shift(&self) -> Option<&'static str> {
        if !self.pfcs.is_empty() {
            return Some("PFC");
        }
        let has_cells = self.ports.iter().any(|port| port.cold.cells.is_some());
        has_cells.then_some("switches of cells")
    }

    /// How many ports there are, loopbacks among them.
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// Moves all that is under way at these ports on by `by`; `body` does so with what packets carry.
    pub fn shift(&mut self, ports: &[PortId], by: Time, body: impl Fn(&mut B)) {
        for id in ports {
            let port = &mut self.ports[id.index()];
            port.shift(by, &body);
            let mut slot = port.first;
            while slot != NONE {
                let wire = &mut self.wires[slot];
                wire.arrive = wire.arrive.saturating_add(by);
                wire.next_start = wire.next_start.saturating_add(by);
                body(&mut wire.packet.body);
                slot = wire.next;
            }
        }
    }

    /// What each of these ports has counted.
    pub fn passed(&self, ports: &[PortId]) -> Vec<Passed> {
        ports.iter().map(|id| self.ports[id.index()].passed()).collect()
    }

    /// Whether chance may take or mark packets at one of these ports that has `passed` some: its link is
    /// faulty, or RED is above its minimum and has taken and marked none meanwhile.
    pub fn is_left_to_chance(&self, ports: &[PortId], passed: &[Passed]) -> bool {
        let both = ports.iter().zip(passed);
        both.into_iter().any(|(id, passed)| passed.packets > 0 && self.ports[id.index()].has_chance(passed))
    }

    /// Counts what each of these ports would have done in a stretch of time that is passed over. How long
    /// packets wait is known of the others only.
    pub fn count(&mut self, ports: &[PortId], more: impl Iterator<Item = Passed>) {
        ports.iter().zip(more).for_each(|(id, more)| self.ports[id.index()].count(&more));
    }

    /// The memory that a port shares with others of its switch, by its number among all such memories.
    pub fn memory_of(&self, id: PortId) -> Option<u32> {
        self.ports[id.index()].cold.classes.as_ref()?.pool
    }

    /// Whether a queue of a port could not have twice the shared memory that it has: what others take would
    /// soon shorten it.
    pub fn is_short_of_memory(&self, id: PortId) -> bool {
        let Some(classes) = &self.ports[id.index()].cold.classes else { return false };
        let Some(pool) = classes.pool else { return false };
        let pool = &self.pools[pool as usize];
        classes.all_queues().any(|queue| pool.room(queue.held) < queue.held)
    }
}

impl<B: Copy + Default> Port<B> {
    fn passed(&self) -> Passed {
        Passed {
            packets: self.enqueued_packets,
            bytes: self.enqueued_bytes,
            wire_bytes: self.wire_bytes,
            marks: self.cold.marks,
            discards: self.discards(),
        }
    }

    fn has_chance(&self, passed: &Passed) -> bool {
        let is_seldom = passed.marks == 0 && passed.discards == Discards::default();
        let queues = self.cold.classes.iter().flat_map(|classes| classes.all_queues());
        let mut disciplines = queues.map(|queue| &queue.discipline).chain([&self.cold.discipline]);
        let may_take = |discipline: &Discipline| matches!(discipline, Discipline::Red(red) if red.may_take());
        self.is(flag::FAULTY) || is_seldom && disciplines.any(may_take)
    }

    fn count(&mut self, more: &Passed) {
        self.enqueued_packets += more.packets;
        self.enqueued_bytes += more.bytes;
        self.wire_bytes += more.wire_bytes;
        self.cold.marks += more.marks;
        self.cold.passed_over += more.packets;
        if more.discards != Discards::default() {
            self.cold.discards.get_or_insert_default().add(&more.discards);
        }
    }

    fn shift(&mut self, by: Time, body: impl Fn(&mut B)) {
        self.due = self.due.saturating_add(by);
        self.free_at = self.free_at.saturating_add(by);
        for (start, _) in &mut self.cold.to_wait {
            *start += by;
        }
        self.cold.discipline.shift(by);
        let Some(classes) = &mut self.cold.classes else { return };
        let voqs = classes.voqs.iter_mut().flat_map(|voqs| &mut voqs.queues);
        for queue in classes.queues.iter_mut().chain(voqs) {
            queue.discipline.shift(by);
            for waiting in queue.ring.places() {
                waiting.since += by;
                body(&mut waiting.packet.body);
            }
        }
    }
}

impl Discipline {
    fn shift(&mut self, by: Time) {
        match self {
            Discipline::Tail | Discipline::Step { .. } => {}
            Discipline::Red(red) => red.shift(by),
            Discipline::Codel(codel) => codel.shift(by),
        }
    }
}
