//! What packets will soon need, asked for beforehand: in a large network hardly any of it is in a cache.
//!
//! For a driver that knows which arrivals come next. It asks step by step, for many arrivals at a time, so
//! that what a step reads is there by then and the waits for memory overlap. Hints only: nothing changes but
//! the time taken.

use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::Packet;
use crate::port::flag;
use mem::prefetch;

impl<B: Copy + Default> Fabric<B> {
    /// Asks for port `id`.
    #[inline]
    pub fn prefetch_port(&self, id: PortId) {
        let port = &self.ports[id.index()];
        prefetch(&port.first);
        prefetch(&port.enqueued_bytes);
    }

    /// Asks for the packet that arrives next by `id`. The port is there.
    #[inline]
    pub fn prefetch_front(&self, id: PortId) {
        if let Some(wire) = self.wires.get(self.ports[id.index()].first) {
            prefetch(wire);
        }
    }

    /// Asks for the way of that packet, and for the one behind it. The packet is there.
    #[inline]
    pub fn prefetch_way(&self, id: PortId) {
        let Some(wire) = self.wires.get(self.ports[id.index()].first) else { return };
        self.routing.prefetch(wire.packet.route);
        if let Some(next) = self.wires.get(wire.next) {
            prefetch(next);
        }
    }

    /// That packet, and the port that it goes on to from the far end of `id`; none when that is its host. The
    /// way is there.
    #[inline]
    pub fn next_arrival(&self, id: PortId) -> Option<(&Packet<B>, Option<PortId>)> {
        let port = &self.ports[id.index()];
        let packet = &self.wires.get(port.first)?.packet;
        let next = if port.is(flag::TO_HOST) { None } else { Some(self.routing.next(packet.route).0) };
        Some((packet, next))
    }

    /// Asks for what a packet needs that enters port `id` while others are before it. The port is there.
    #[inline]
    pub fn prefetch_queue(&self, id: PortId) {
        let port = &self.ports[id.index()];
        for slot in [port.waiting, port.last] {
            if let Some(wire) = self.wires.get(slot) {
                prefetch(wire);
            }
        }
    }
}
