//! The fabric's view of the simulator: the event queue, and what became of packets.

use crate::body::Body;
use crate::key::{Kind, key, mixed};
use crate::wheel::Wheel;
use fabric::{Discard, Driver, Packet, PortEvent, PortId};
use units::Time;

/// A packet seen at a captured port, or discarded there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub time: Time,
    pub port: PortId,
    pub packet: Packet<Body>,
    pub discard: Option<Discard>,
}

/// What the fabric drives.
#[derive(Debug)]
pub(crate) struct Outside {
    pub wheel: Wheel,
    /// Ports with packets for other parts, and when the next of them is to be handed over.
    pub crossing: Vec<(Time, PortId)>,
    /// Packets discarded by the event at hand; settled when it is over.
    pub gone: Vec<Packet<Body>>,
    pub seen: Vec<Seen>,
    pub captured: Vec<PortId>,
    /// Arrivals that were none: their number, and their part in the fingerprint.
    pub stale: (u64, u64),
    /// Packets discarded in all.
    pub discards: u64,
    /// What PFC watchdogs have found at the event at hand: port, class, whether a storm begins.
    pub storms: Vec<(PortId, u8, bool)>,
    /// The event at hand has left something to do: for processes, endpoints, or with discarded packets.
    pub news: bool,
}

impl Outside {
    pub(crate) fn new(wheel: Wheel) -> Outside {
        Outside {
            wheel,
            crossing: Vec::new(),
            gone: Vec::new(),
            seen: Vec::new(),
            captured: Vec::new(),
            stale: (0, 0),
            discards: 0,
            storms: Vec::new(),
            news: true,
        }
    }

    #[inline(always)]
    pub(crate) fn at(&mut self, time: Time, kind: Kind, index: u32) {
        self.wheel.push(time, key(kind, index));
    }
}

impl Driver<Body> for Outside {
    #[inline(always)]
    fn schedule(&mut self, at: Time, event: PortEvent) {
        match event {
            PortEvent::Transmit(port) => self.at(at, Kind::Transmit, port.0),
            PortEvent::Arrive(port) => self.at(at, Kind::Arrive, port.0),
            PortEvent::Timer(port) => self.at(at, Kind::Pause, port.0),
            PortEvent::HandOver(port) => self.crossing.push((at, port)),
            PortEvent::Room(port) => self.at(at, Kind::Room, port.0),
        }
    }

    fn discard(&mut self, now: Time, port: PortId, packet: &Packet<Body>, reason: Discard) {
        self.discards += 1;
        if self.captured.contains(&port) {
            self.seen.push(Seen { time: now, port, packet: *packet, discard: Some(reason) });
        }
        self.gone.push(*packet);
        self.news = true;
    }

    #[cold]
    fn stale(&mut self, now: Time, port: PortId) {
        self.stale.0 += 1;
        self.stale.1 = self.stale.1.wrapping_add(mixed(now, key(Kind::Arrive, port.0)));
    }

    #[cold]
    fn storm(&mut self, _: Time, port: PortId, class: u8, begins: bool) {
        self.storms.push((port, class, begins));
    }

    fn sent(&mut self, start: Time, port: PortId, packet: &Packet<Body>) {
        self.seen.push(Seen { time: start, port, packet: *packet, discard: None });
        self.news = true;
    }
}
