//! The interface between the fabric and its driver.

use crate::ids::PortId;
use crate::packet::{Discard, Packet};
use units::Time;

/// What a port wants to be called back for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortEvent {
    /// Call [`crate::Fabric::transmit`]: the transmitter is free.
    Transmit(PortId),
    /// Call [`crate::Fabric::arrive`]: a packet reaches the far end.
    Arrive(PortId),
    /// Call [`crate::Fabric::timer`]: a pause may end or has to be renewed, or a watchdog looks.
    Timer(PortId),
    /// Call [`crate::Fabric::hand_over`] from then on: a packet is on the way to another part of the network.
    HandOver(PortId),
    /// There is the room that [`crate::Fabric::await_room`] asked for.
    Room(PortId),
}

/// What the fabric needs of its driver.
pub trait Driver<B> {
    /// Call back at `at`. A port has at most one live event to arrive or transmit; a stale one does no harm.
    fn schedule(&mut self, at: Time, event: PortEvent);
    /// `packet` is gone.
    fn discard(&mut self, now: Time, port: PortId, packet: &Packet<B>, reason: Discard);
    /// `packet` leaves by a captured port at `start`, which may lie ahead.
    fn sent(&mut self, start: Time, port: PortId, packet: &Packet<B>);
    /// A call to [`crate::Fabric::arrive`] was for nothing: the link has changed since.
    fn stale(&mut self, _now: Time, _port: PortId) {}
    /// The PFC watchdog has found a storm of PAUSE frames at `port`, or that it is over.
    fn storm(&mut self, _now: Time, _port: PortId, _class: u8, _begins: bool) {}
}

/// A packet that has come to its host. It keeps its memory until it is [collected](crate::Fabric::collect).
#[must_use]
#[derive(Debug)]
pub struct Delivery(pub(crate) u32);
