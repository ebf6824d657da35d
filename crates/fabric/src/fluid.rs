//! Traffic of a constant rate as a fluid: no packets, but a rate at each port that it crosses. What packets
//! meet there is the same first-in first-out queue with both in it.
//!
//! The port serves at its line rate; a packet waits for all that came before it, fluid or packet. With less
//! fluid than the line rate the work ahead of a packet is known when it enters: while there is work `W`, it
//! shrinks at `1 − fluid rate / line rate`, and a packet adds the time it takes to send. So a first-in
//! first-out port keeps its one event a hop. A scheduled port with one queue remembers for each packet how much
//! fluid is to be sent before it. Nothing happens at a port between its packets: the fluid is brought up to
//! date when one comes or goes.
//!
//! Fluid counts as queue length for limits, marks and RED and takes shared memory; what finds no room is lost.
//! It is not a set of flows: it neither slows down nor bursts, and what is lost or waits at one port
//! arrives at the next all the same. `docs/explanation/hybrid.md` says how far it is from packets.

use crate::buffer::Pool;
use crate::classes::Classes;
use crate::config::Framing;
use crate::fabric::Fabric;
use crate::port::{Port, PortId, flag};
use crate::topology::NodeId;
use crate::wires::Wire;
use std::collections::VecDeque;
use units::{Bytes, Rate, Time};

const BITS_PS: u128 = 8_000_000_000_000;

/// Fluid from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FluidFlow {
    /// Its source.
    pub from: NodeId,
    /// Its destination.
    pub to: NodeId,
    /// Chooses among equal-cost routes, as that of a packet.
    pub hash: u16,
    /// Rate of IP bytes.
    pub rate: Rate,
    /// IP bytes of the packets that it stands for: they tell what it costs on the wire.
    pub packet_bytes: u16,
}

/// What fluid has done at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FluidTotals {
    /// IP bytes that the port has taken.
    pub bytes: u64,
    /// IP bytes that found no room.
    pub lost_bytes: u64,
}

/// The fluid at a port as somebody sees it who looks.
pub(crate) struct FluidLook {
    pub totals: FluidTotals,
    /// IP bytes that wait.
    pub bytes: u64,
    /// Time that it has kept the transmitter busy.
    pub busy: Time,
}

/// The fluid at a port. Backlogs are kept as the time that they take at line rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fluid {
    /// Bits a second on the wire, and of IP.
    wire: u64,
    ip: u64,
    /// The same while it last flowed: what of a backlog is IP.
    share: (u64, u64),
    packets_per_s: f64,
    /// Up to when it is accounted for.
    since: Time,
    /// When the port last ran out of work.
    pub emptied: Time,
    /// Scheduled ports: what waits behind the last packet, and before each packet that waits.
    tail: Time,
    ahead: VecDeque<Time>,
    /// The sum of `ahead`.
    between: Time,
    /// Scheduled ports: until then the transmitter sends what was before the packet in hand.
    sending: Time,
    /// First-in first-out ports: when the last packet whose sending has begun is sent.
    pub in_hand: Time,
    /// Until then a packet of the fluid's would find no room: what comes is lost.
    closed: Time,
    /// Shared memory taken.
    held: u64,
    /// IP bits × ps that came, and of them those that found no room.
    offered: u128,
    lost: u128,
    /// Wire bits × ps that came while there was room.
    offered_wire: u128,
}

impl Fluid {
    /// Work that comes in `span`, as time at line rate.
    fn inflow(&self, span: Time, line: Rate) -> Time {
        let ps = u128::from(span.as_ps()) * u128::from(self.wire) / u128::from(line.as_bps());
        Time::from_ps(ps as u64)
    }

    /// From `begin` on the transmitter has had `work` before it and what came: notes when that ended, if by `now`.
    fn note_end(&mut self, begin: Time, work: Time, now: Time, line: Rate) {
        let left = line.as_bps().saturating_sub(self.wire);
        if work == Time::ZERO || left == 0 {
            return;
        }
        let ps = u128::from(work.as_ps()) * u128::from(line.as_bps()) / u128::from(left);
        let end = u128::from(begin.as_ps()) + ps;
        if end <= u128::from(now.as_ps()) {
            self.emptied = Time::from_ps(end as u64);
        }
    }

    /// IP bytes of a backlog.
    fn bytes(&self, backlog: Time, line: Rate) -> u64 {
        let (wire, ip) = self.share;
        let on_wire = u128::from(backlog.as_ps()) * u128::from(line.as_bps()) / BITS_PS;
        (on_wire * u128::from(ip) / u128::from(wire.max(1))) as u64
    }

    /// The time at line rate of so many IP bytes.
    fn time(&self, bytes: u64, line: Rate) -> Time {
        let (wire, ip) = self.share;
        let ps = u128::from(bytes) * BITS_PS * u128::from(wire) / u128::from(ip.max(1));
        Time::from_ps((ps / u128::from(line.as_bps())) as u64)
    }

    /// How many packets so many bytes stand for.
    fn packets(&self, bytes: u64) -> u32 {
        if self.ip == 0 { 0 } else { (bytes as f64 * 8.0 * self.packets_per_s / self.ip as f64) as u32 }
    }

    /// Adds or takes away a flow.
    fn change(&mut self, wire: u64, ip: u64, packets_per_s: f64, begins: bool) {
        if begins {
            self.wire += wire;
            self.ip += ip;
            self.packets_per_s += packets_per_s;
        } else {
            self.wire = self.wire.saturating_sub(wire);
            self.ip = self.ip.saturating_sub(ip);
            self.packets_per_s = (self.packets_per_s - packets_per_s).max(0.0);
        }
        if self.wire > 0 {
            self.share = (self.wire, self.ip);
        }
    }

    /// IP bytes of one of its packets.
    fn packet(&self) -> u64 {
        if self.packets_per_s > 0.0 { (self.ip as f64 / 8.0 / self.packets_per_s) as u64 } else { 0 }
    }

    /// Moves the clock on; returns the time passed, and the part of it in which the queue was open.
    fn pass(&mut self, now: Time) -> (Time, Time) {
        let span = now.saturating_sub(self.since);
        let open = now.saturating_sub(self.since.max(self.closed)).min(span);
        self.since = self.since.max(now);
        let came = |rate: u64, span: Time| u128::from(span.as_ps()) * u128::from(rate);
        self.offered += came(self.ip, span);
        self.offered_wire += came(self.wire, open);
        self.lost += came(self.ip, span - open);
        (span, open)
    }

    /// The queue holds `length` bytes, fluid included: closes it until a packet of the fluid would find room
    /// below `limit`, and the queue is not above `ceiling`.
    fn close(&mut self, now: Time, length: u64, limit: u64, ceiling: u64, line: Rate) {
        let excess = (length + self.packet()).saturating_sub(limit).max(length.saturating_sub(ceiling));
        self.closed = now + self.time(excess, line);
    }

    fn lose(&mut self, bytes: u64) {
        self.lost += u128::from(bytes) * BITS_PS;
    }

    /// Scheduled ports: what waits at `now`.
    fn backlog(&self, now: Time) -> Time {
        self.between + self.tail + self.sending.saturating_sub(now)
    }

    fn totals(&self) -> FluidTotals {
        let (came, lost_bytes) = ((self.offered / BITS_PS) as u64, (self.lost / BITS_PS) as u64);
        FluidTotals { bytes: came.saturating_sub(lost_bytes), lost_bytes }
    }
}

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

    /// The fluid at `now`. Times are rounded whenever it is brought up to date, so that a look does so to a copy: a run
    /// that is looked at is the run that nobody looks at.
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
        let look = FluidLook { totals, bytes, busy: self.fluid_busy() };
        if let (Some(fluid), Some(classes), Some(before)) =
            (&mut self.cold.fluid, &mut self.cold.classes, &before)
        {
            classes.hold_fluid(&mut fluid.held, before.held, pools);
        }
        (self.cold.fluid, self.free_at) = (before, free_at);
        look
    }

    /// Time that the fluid has kept the transmitter busy, what waits included.
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
