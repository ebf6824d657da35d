//! Traffic of a constant rate as a fluid: no packets, but a rate at each port that it crosses. What packets
//! meet there is the same first-in first-out queue with both in it.
//!
//! The port serves at its line rate; a packet waits for all that came before it, fluid or packet. With less
//! fluid than the line rate the work ahead of a packet is known when it enters: while there is work `W`, it
//! shrinks at `1 − fluid rate / line rate`, and a packet adds the time it takes to send. So a first-in
//! first-out port keeps its one event per hop. A scheduled port with one queue remembers for each packet how
//! much fluid is to be sent before it. Nothing happens at a port between its packets: the fluid is brought up
//! to date when one comes or goes.
//!
//! Fluid counts as queue length for limits, marks and RED and takes shared memory; what finds no room is
//! lost. It is not a set of flows: it neither slows down nor bursts, and what is lost or waits at one port
//! arrives at the next all the same. `docs/explanation/hybrid.md` says how far it is from packets.

mod ports;

use crate::ids::NodeId;
use std::collections::VecDeque;
use units::{Rate, Time};

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

/// The fluid at a port as an observer sees it.
pub(crate) struct FluidLook {
    pub totals: FluidTotals,
    /// IP bytes that wait.
    pub bytes: u64,
    /// Time of the transmitter that it takes, what waits included.
    pub busy: Time,
    /// What the transmitter still has to send of fluid and packets, without packets that wait at scheduled
    /// ports.
    pub left: Time,
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

    /// From `begin` on the transmitter has had `work` before it and what came: notes when that ended, if by
    /// `now`.
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
