//! Packets that wait at their host for a core.

use crate::body::Body;
use fabric::Packet;
use std::collections::VecDeque;
use units::Time;

/// Packets that have come to a host and wait.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The one behind the last of them would begin here.
    pub free: Time,
    /// When each is taken; in order.
    pub waiting: VecDeque<(Time, Packet<Body>)>,
}
