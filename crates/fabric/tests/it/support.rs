//! A driver that runs a fabric alone in virtual time.

#![allow(dead_code, reason = "each test file uses a part of it")]

use fabric::{Discard, Driver, Ecn, Fabric, Graph, NodeId, Packet, PortEvent, PortId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// What happened.
#[derive(Default)]
pub struct Log {
    events: BinaryHeap<Reverse<(Time, u8, u32)>>,
    /// (time, port, number of the packet, reason).
    pub discarded: Vec<(Time, PortId, u32, Discard)>,
    /// (time, port, class, whether it begins).
    pub storms: Vec<(Time, PortId, u8, bool)>,
}

impl Driver<u32> for Log {
    fn schedule(&mut self, at: Time, event: PortEvent) {
        let (kind, port) = match event {
            PortEvent::Transmit(port) => (0, port.0),
            PortEvent::Arrive(port) => (1, port.0),
            PortEvent::Timer(port) => (2, port.0),
            PortEvent::HandOver(_) | PortEvent::Room(_) => return,
        };
        self.events.push(Reverse((at, kind, port)));
    }

    fn discard(&mut self, now: Time, port: PortId, packet: &Packet<u32>, reason: Discard) {
        self.discarded.push((now, port, packet.body, reason));
    }

    fn sent(&mut self, _: Time, _: PortId, _: &Packet<u32>) {}

    fn storm(&mut self, now: Time, port: PortId, class: u8, begins: bool) {
        self.storms.push((now, port, class, begins));
    }
}

/// A fabric and its log.
pub struct Lab {
    pub fabric: Fabric<u32>,
    pub log: Log,
    pub now: Time,
    /// (time, number of the packet, its ECN field on arrival).
    pub delivered: Vec<(Time, u32, Ecn)>,
}

/// A packet to inject.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub at: Time,
    pub from: u32,
    pub to: u32,
    pub bytes: u16,
    pub class: u8,
    pub ecn: Ecn,
}

impl Lab {
    pub fn new(fabric: Fabric<u32>) -> Lab {
        Lab { fabric, log: Log::default(), now: Time::ZERO, delivered: Vec::new() }
    }

    /// Injects packet `number` now; false when no way leads to its destination.
    pub fn send(&mut self, number: u32, load: Load) -> bool {
        let (from, to) = (NodeId(load.from), NodeId(load.to));
        let hash = self.fabric.flow_hash(from, to, 1, 2, 6);
        let Some((port, route)) = self.fabric.route(from, to, hash) else { return false };
        let Load { bytes, class, ecn, .. } = load;
        let packet = Packet { route, bytes, hash, class, ecn, body: number };
        self.fabric.enqueue(self.now, PortId::NONE, port, &packet, &mut self.log);
        true
    }

    /// Runs all events up to `until`.
    pub fn run(&mut self, until: Time) {
        while let Some(&Reverse((at, kind, port))) = self.log.events.peek() {
            if at > until {
                break;
            }
            self.log.events.pop();
            self.now = at;
            if kind == 0 {
                self.fabric.transmit(at, PortId(port), &mut self.log);
                continue;
            }
            if kind == 2 {
                self.fabric.timer(at, PortId(port), &mut self.log);
                continue;
            }
            if let Some(delivery) = self.fabric.arrive(at, PortId(port), &mut self.log) {
                let packet = *self.fabric.collect(delivery);
                self.delivered.push((at, packet.body, packet.ecn));
            }
        }
        self.now = until;
    }

    /// Runs as long as there are events, at most up to `until`.
    pub fn settle(&mut self, until: Time) {
        while let Some(&Reverse((at, ..))) = self.log.events.peek() {
            if at > until {
                return;
            }
            self.run(at);
        }
    }

    /// Injects `loads`, which are in order of time, and runs until nothing moves.
    pub fn play(&mut self, loads: &[Load]) {
        for (number, load) in loads.iter().enumerate() {
            self.run(load.at);
            self.send(number as u32, *load);
        }
        self.run(Time::from_secs(1000));
    }
}

/// The port from `a` to `b`.
pub fn port(graph: &Graph, fabric: &Fabric<u32>, a: &str, b: &str) -> PortId {
    let ends = (graph.find(a).unwrap(), graph.find(b).unwrap());
    fabric.ports().find(|port| fabric.ends(*port) == ends).unwrap()
}
