//! Hosts that are not simulated: what they say comes from outside as whole packets, and what they hear goes
//! there. Their part of the order of events is theirs as any other's: they are woken by events of the queue.

use crate::body::{Body, DATAGRAM, Extra};
use crate::host::NORMAL;
use crate::key::Kind;
use crate::run::Sim;
use fabric::{Ecn, NodeId, Packet, PortId};
use process::HostId;
use transport::tcp::Header;
use units::Time;

/// An IP packet of a host that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPacket {
    /// Where it goes.
    pub to: HostId,
    /// Ports and protocol, zero where it has none: they choose among equal-cost routes.
    pub ports: (u16, u16),
    /// See `ports`.
    pub protocol: u8,
    /// Traffic class (802.1p), 0–7.
    pub class: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// The packet, from its IP header on.
    pub data: Box<[u8]>,
    /// So much later than its host sent it it is put into the network.
    pub late: Time,
}

/// What comes to a host that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outward {
    /// The time has come that it asked for ([`Sim::wake_at`]).
    Wake(HostId),
    /// A packet has come.
    Packet(Delivered),
}

/// A packet that has come to a host that is not simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The host.
    pub to: HostId,
    /// As in [`RawPacket`].
    pub data: Box<[u8]>,
    /// A switch has marked it on its way.
    pub marked: bool,
    /// As in [`RawPacket`].
    pub late: Time,
}

impl Sim {
    /// Wakes `host` at a time, now or later.
    pub fn wake_at(&mut self, host: HostId, at: Time) {
        self.net.outside.at(at, Kind::Outsider, host.0);
    }

    /// The next event's time: until then nothing happens but what hosts that are not simulated do.
    pub fn next_event(&mut self) -> Time {
        let next = self.net.outside.wheel.peek().map_or(Time::MAX, |entry| entry.time);
        next.min(self.until)
    }

    /// Moves the clock on, at most to the next event: a host that is not simulated is so far.
    pub fn move_on(&mut self, to: Time) {
        self.net.now = to.min(self.next_event()).max(self.net.now);
    }

    /// Whether a host is up ([`Change::Crash`](crate::Change::Crash)).
    pub fn is_up(&self, host: HostId) -> bool {
        self.net.hosts[host.0 as usize].up
    }

    /// How often a host has crashed.
    pub fn crashes(&self, host: HostId) -> u64 {
        self.net.hosts[host.0 as usize].crashes
    }

    /// How fast a host computes, as a multiple of its usual speed ([`Change::Slow`](crate::Change::Slow)).
    pub fn speed(&self, host: HostId) -> f64 {
        self.net.hosts[host.0 as usize].speed as f64 / NORMAL as f64
    }

    /// What has happened to hosts that are not simulated since the last call.
    pub fn take_outward(&mut self) -> Vec<Outward> {
        std::mem::take(&mut self.outward)
    }

    /// Puts a packet into the queue of `from`'s network card; when the last byte of that queue will have
    /// left. Where PFC holds it back nobody knows: the host is [woken](Outward::Wake) when it has its turn,
    /// and until then [it waits](Sim::raw_waits). Without a route to its destination it is counted and gone.
    pub fn send_raw(&mut self, from: HostId, raw: RawPacket) -> Option<Time> {
        let now = self.net.now;
        let RawPacket { to, ports, protocol, class, ecn, data, late } = raw;
        let (from_node, to_node) = (NodeId(from.0), NodeId(to.0));
        let hash = self.net.fabric.flow_hash(from_node, to_node, ports.0, ports.1, protocol);
        let Some((out, route)) = self.net.fabric.route(from_node, to_node, hash) else {
            self.drop_unroutable(from);
            return Some(now);
        };
        let bytes = data.len().min(usize::from(u16::MAX)) as u16;
        let extra = self.net.extras.insert(Extra::Raw { from, to, ports, data, late }) + 1;
        let body = Body { header: Header::default(), to: DATAGRAM, extra };
        let packet = Packet { route, bytes, hash, class, ecn, body };
        self.net.fabric.enqueue(now, PortId::NONE, out, &packet, &mut self.net.outside);
        if self.net.outside.news {
            self.settle();
        }
        if self.net.fabric.class_backlog(out, class).is_some_and(|bytes| bytes > 0) {
            self.net.hosts[from.0 as usize].raw_waits = Some((out, class));
            self.net.fabric.await_room(out, class, 1);
            return None;
        }
        Some(now + self.net.fabric.backlog(now, out))
    }

    /// Whether a packet of `host` waits at its network card because of PFC.
    pub fn raw_waits(&self, host: HostId) -> bool {
        self.net.hosts[host.0 as usize].raw_waits.is_some()
    }

    /// A port of `host` has room in a class: in that of the packet that waits there, or in another.
    pub(crate) fn on_raw_room(&mut self, host: u32) {
        let Some((port, class)) = self.net.hosts[host as usize].raw_waits else { return };
        if self.net.fabric.class_backlog(port, class).is_some_and(|bytes| bytes > 0) {
            return self.net.fabric.await_room(port, class, 1);
        }
        self.net.hosts[host as usize].raw_waits = None;
        self.on_outsider(host);
    }

    /// A host would send a packet to an address that no host has.
    pub fn drop_unroutable(&mut self, host: HostId) {
        self.net.hosts[host.0 as usize].drops.no_route += 1;
    }

    /// A packet has come to a host on which nobody takes it.
    pub fn refuse_raw(&mut self, host: HostId) {
        self.net.hosts[host.0 as usize].drops.no_port += 1;
    }

    /// A packet of [`Sim::send_raw`] has come to its host.
    pub(crate) fn on_raw(&mut self, packet: &Packet<Body>) {
        let Some(Extra::Raw { to, data, late, .. }) = self.net.extras.remove(packet.body.extra - 1) else {
            unreachable!("a raw packet carries its content")
        };
        if self.takes(to.0, packet) {
            let marked = packet.ecn == Ecn::Ce;
            self.outward.push(Outward::Packet(Delivered { to, data, marked, late }));
            self.net.outside.news = true;
        }
    }

    /// A host that is not simulated is to be woken.
    pub(crate) fn on_outsider(&mut self, host: u32) {
        self.outward.push(Outward::Wake(HostId(host)));
        self.net.outside.news = true;
    }
}
