//! Fluid at ports: its way through the network, and where packets and fluid meet in a queue.

use super::{Fluid, FluidFlow, FluidLook, FluidTotals};
use crate::buffer::Pool;
use crate::classes::Classes;
use crate::config::Framing;
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::port::{Port, flag};
use crate::wires::Wire;
use units::{Bytes, Rate, Time};

impl<B: Copy + Default> Port<B> {
    /// First-in first-out ports: brings the work ahead of a packet that enters at `now` up to date; returns
    /// the fluid in it as IP bytes and packets.
    pub(crate) fn settle_fluid(&mut self, wires: &[Wire<B>], now: Time, framing: Framing) -> (u64, u32) {
        let rate = self.cold.rate;
        let Some(fluid) = &mut self.cold.fluid else { return (0, 0) };
        let work = self.free_at.saturating_sub(fluid.since);
        fluid.note_end(fluid.since, work, now, rate);
        let (span, open) = fluid.pass(now);
        let work = (work + fluid.inflow(open, rate)).saturating_sub(span);
        self.free_at = now + work;
        self.start_beside_fluid(wires, now);
        let packets = self.work_of_packets(now, framing);
        let room = self.cold.limit_bytes.saturating_sub(self.waiting_bytes);
        let Some(fluid) = &mut self.cold.fluid else { return (0, 0) };
        let bytes = fluid.bytes(work.saturating_sub(packets), rate);
        if bytes > room {
            // Only above the line rate, as after a fault that lowers it.
            fluid.lose(bytes - room);
            self.free_at = self.free_at.saturating_sub(fluid.time(bytes - room, rate)).max(now);
        }
        let bytes = bytes.min(room);
        (bytes, fluid.packets(bytes))
    }

    /// What is still to be sent of packets (first-in first-out ports).
    fn work_of_packets(&self, now: Time, framing: Framing) -> Time {
        let bytes = self.waiting_bytes + u64::from(self.waiting_packets) * u64::from(framing.overhead);
        let in_hand = self.cold.fluid.as_ref().map_or(Time::ZERO, |fluid| fluid.in_hand.saturating_sub(now));
        in_hand + self.cold.rate.time_for(Bytes::new(bytes))
    }

    /// [`Port::start_due`] where fluid may flow.
    pub(crate) fn start_beside_fluid(&mut self, wires: &[Wire<B>], now: Time) {
        while self.due <= now {
            let wire = &wires[self.waiting as usize];
            self.leave_queue(wire);
            self.note_in_hand(wire);
        }
    }

    /// The sending of `wire` has begun.
    pub(crate) fn note_in_hand(&mut self, wire: &Wire<B>) {
        if let Some(fluid) = &mut self.cold.fluid {
            fluid.in_hand = wire.arrive - self.delay;
        }
    }

    /// Scheduled ports: fluid that came up to `now` joins the queue, as far as there is room.
    fn accrue_fluid(&mut self, now: Time, pools: &mut [Pool]) {
        let (free_at, rate) = (self.free_at, self.cold.rate);
        let room = self.cold.limit_bytes.saturating_sub(self.waiting_bytes);
        let (Some(fluid), Some(classes)) = (&mut self.cold.fluid, &mut self.cold.classes) else { return };
        let free = free_at.max(fluid.since);
        let idle = now.saturating_sub(free);
        let work = fluid.tail + fluid.inflow(free - fluid.since, rate);
        fluid.note_end(free, work, now, rate);
        let (_, open) = fluid.pass(now);
        // The transmitter is idle only when no packet waits: then it sends what is behind the last one.
        fluid.tail = (fluid.tail + fluid.inflow(open, rate)).saturating_sub(idle);
        let wanted = fluid.bytes(fluid.backlog(now), rate);
        let granted = classes.hold_fluid(&mut fluid.held, wanted.min(room), pools);
        if granted < wanted {
            fluid.lose(wanted - granted);
            fluid.tail = fluid.tail.saturating_sub(fluid.time(wanted - granted, rate));
        }
    }

    /// First-in first-out ports: a packet has come, and `fluid` bytes wait too.
    pub(crate) fn close_to_fluid(&mut self, now: Time, fluid: u64) {
        let (length, rate) = (self.waiting_bytes + fluid, self.cold.rate);
        let (limits, ceiling) = ((self.cold.limit_bytes, self.limit_packets), self.cold.mark_bytes);
        if let Some(fluid) = &mut self.cold.fluid {
            let packets = u64::from(limits.1).saturating_mul(fluid.packet());
            fluid.close(now, length, limits.0.min(packets), ceiling, rate);
        }
    }

    /// Scheduled ports: a packet has come or gone.
    fn close_scheduled_to_fluid(&mut self, now: Time, pools: &[Pool]) {
        let (rate, fluid_bytes) = (self.cold.rate, self.fluid_waiting());
        let length = self.waiting_bytes + fluid_bytes;
        let (limit_bytes, limit_packets) = (self.cold.limit_bytes, self.limit_packets);
        let (Some(fluid), Some(classes)) = (&mut self.cold.fluid, &self.cold.classes) else { return };
        let packets = u64::from(limit_packets).saturating_mul(fluid.packet());
        let (room, ceiling) = classes.room_for_fluid(pools);
        fluid.close(now, length, limit_bytes.min(packets).min(length.saturating_add(room)), ceiling, rate);
    }

    /// Scheduled ports: IP bytes of fluid that wait, as far as it is accounted for.
    fn fluid_waiting(&self) -> u64 {
        let waiting = |fluid: &Fluid| fluid.bytes(fluid.backlog(fluid.since), self.cold.rate);
        self.cold.fluid.as_deref().map_or(0, waiting)
    }

    /// Brings the fluid up to `now`; the IP bytes of it that wait.
    fn bring_up(&mut self, now: Time, framing: Framing, wires: &[Wire<B>], pools: &mut [Pool]) -> u64 {
        if self.is(flag::SCHEDULED) {
            self.accrue_fluid(now, pools);
            return self.fluid_waiting();
        }
        self.settle_fluid(wires, now, framing).0
    }

    /// The fluid at `now`. Times are rounded whenever it is brought up to date, so that a look does so to a
    /// copy: a run that is looked at is the run that nobody looks at.
    pub(crate) fn fluid_at(
        &mut self,
        now: Time,
        framing: Framing,
        wires: &[Wire<B>],
        pools: &mut [Pool],
    ) -> FluidLook {
        if !self.is(flag::SCHEDULED) {
            self.start_beside_fluid(wires, now);
        }
        let (before, free_at) = (self.cold.fluid.clone(), self.free_at);
        let bytes = self.bring_up(now, framing, wires, pools);
        let totals = self.cold.fluid.as_ref().map_or_else(FluidTotals::default, |fluid| fluid.totals());
        let behind = self.cold.fluid.as_ref().map_or(Time::ZERO, |fluid| fluid.between + fluid.tail);
        let left = self.free_at.saturating_sub(now) + behind;
        let look = FluidLook { totals, bytes, busy: self.fluid_busy(), left };
        if let (Some(fluid), Some(classes), Some(before)) =
            (&mut self.cold.fluid, &mut self.cold.classes, &before)
        {
            classes.hold_fluid(&mut fluid.held, before.held, pools);
        }
        (self.cold.fluid, self.free_at) = (before, free_at);
        look
    }

    /// Time of the transmitter that the fluid takes, what waits included.
    fn fluid_busy(&self) -> Time {
        let Some(fluid) = &self.cold.fluid else { return Time::ZERO };
        Time::from_ps((fluid.offered_wire / u128::from(self.cold.rate.as_bps())) as u64)
    }

    /// Notes the length of a queue of packets and `fluid` bytes.
    fn note_fluid(&mut self, fluid: u64) {
        self.note_bytes(self.waiting_bytes + fluid);
    }
}

impl<B: Copy + Default> Fabric<B> {
    /// Fluid begins to flow at `now`; false when no way leads to its destination.
    pub fn start_fluid(&mut self, now: Time, flow: &FluidFlow) -> bool {
        self.change_fluid(now, flow, true)
    }

    /// Fluid that has begun to flow ends.
    pub fn stop_fluid(&mut self, now: Time, flow: &FluidFlow) {
        self.change_fluid(now, flow, false);
    }

    /// The ports that `flow` crosses, and what it takes of each: bits a second on the wire.
    pub fn fluid_path(&mut self, flow: &FluidFlow) -> Option<(Vec<PortId>, Rate)> {
        let way = self.route(flow.from, flow.to, flow.hash)?;
        let wire = u128::from(self.framing.wire_bytes(flow.packet_bytes));
        let bps = u128::from(flow.rate.as_bps()) * wire / u128::from(flow.packet_bytes.max(1));
        Some((self.path(way), Rate::from_bps(bps as u64)))
    }

    /// Whether fluid can be modelled at `id`: it has one queue.
    pub fn takes_fluid(&self, id: PortId) -> bool {
        let one = |classes: &Classes<B>| classes.queues.len() == 1 && classes.voqs.is_none();
        self.ports[id.index()].cold.classes.as_deref().is_none_or(one)
    }

    fn change_fluid(&mut self, now: Time, flow: &FluidFlow, begins: bool) -> bool {
        let Some((path, wire)) = self.fluid_path(flow) else { return false };
        let each = flow.rate.as_bps() as f64 / 8.0 / f64::from(flow.packet_bytes.max(1));
        for id in path {
            let port = &mut self.ports[id.index()];
            port.bring_up(now, self.framing, &self.wires.slots, &mut self.pools);
            port.flags |= flag::FLUID;
            let begun = self.wires.chain(port.first).take_while(|&slot| slot != port.waiting).last();
            let in_hand = begun.map_or(Time::ZERO, |slot| self.wires[slot].arrive - port.delay);
            let new = || Box::new(Fluid { since: now, in_hand, ..Fluid::default() });
            let fluid = port.cold.fluid.get_or_insert_with(new);
            fluid.change(wire.as_bps(), flow.rate.as_bps(), each, begins);
        }
        true
    }

    /// Fluid at `id`: its totals.
    pub fn fluid(&mut self, now: Time, id: PortId) -> FluidTotals {
        self.ports[id.index()].fluid_at(now, self.framing, &self.wires.slots, &mut self.pools).totals
    }

    /// A packet is about to enter the queue of scheduled port `id`: the fluid before it in bytes and packets.
    #[cold]
    pub(crate) fn fluid_before(&mut self, now: Time, id: PortId) -> (u64, u32) {
        let port = &mut self.ports[id.index()];
        port.accrue_fluid(now, &mut self.pools);
        let bytes = port.fluid_waiting();
        (bytes, port.cold.fluid.as_ref().map_or(0, |fluid| fluid.packets(bytes)))
    }

    /// A packet has entered the queue of scheduled port `id`: what fluid there is goes before it.
    #[cold]
    pub(crate) fn fluid_entered(&mut self, id: PortId) {
        let port = &mut self.ports[id.index()];
        let Some(fluid) = &mut port.cold.fluid else { return };
        let ahead = std::mem::take(&mut fluid.tail);
        fluid.between += ahead;
        fluid.ahead.push_back(ahead);
        let now = fluid.since;
        let bytes = port.fluid_waiting();
        port.note_fluid(bytes);
        port.close_scheduled_to_fluid(now, &self.pools);
    }

    /// The first packet leaves the queue of scheduled port `id` at `now`: how long the fluid before it takes.
    #[cold]
    pub(crate) fn fluid_leaves(&mut self, now: Time, id: PortId) -> Time {
        let port = &mut self.ports[id.index()];
        port.accrue_fluid(now, &mut self.pools);
        let Some(fluid) = &mut port.cold.fluid else { return Time::ZERO };
        let ahead = fluid.ahead.pop_front().unwrap_or(Time::ZERO);
        fluid.between = fluid.between - ahead;
        fluid.sending = fluid.sending.max(now) + ahead;
        port.close_scheduled_to_fluid(now, &self.pools);
        ahead
    }

    /// The queue of `id` is emptied: the fluid in it is lost.
    pub(crate) fn fluid_drained(&mut self, id: PortId) {
        let port = &mut self.ports[id.index()];
        let bytes = port.fluid_waiting();
        let Some(fluid) = &mut port.cold.fluid else { return };
        fluid.in_hand = Time::ZERO;
        let Some(classes) = &mut port.cold.classes else { return };
        fluid.lose(bytes);
        (fluid.tail, fluid.between, fluid.sending) = (Time::ZERO, Time::ZERO, Time::ZERO);
        fluid.ahead.clear();
        classes.hold_fluid(&mut fluid.held, 0, &mut self.pools);
    }
}
