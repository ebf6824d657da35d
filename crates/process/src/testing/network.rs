//! What the network of a [`World`](super::World) does to what is sent.

use crate::HostId;
use rand::RngExt;
use rand_pcg::Pcg64;
use units::Time;

/// A network.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Everything takes so long.
    pub delay: Time,
    /// And up to so much more, drawn each time: datagrams overtake each other, what is written to a stream
    /// stays in order.
    pub jitter: Time,
    /// Probability that a datagram is lost, 0 to 1.
    pub loss: f64,
    /// Probability that a datagram comes twice.
    pub doubled: f64,
    /// Bytes of a stream that are on the way or not read yet, at most, for each direction.
    pub buffer: u64,
    /// What is written to a stream arrives in pieces of random lengths.
    pub pieces: bool,
    /// Between these two, what is written to streams takes so much longer.
    pub far: Option<(HostId, HostId, Time)>,
    /// Hosts without a process take every stream that is opened to them, and whatever is written to it.
    pub strangers: bool,
}

impl Default for Network {
    /// Ten microseconds, without trouble.
    fn default() -> Network {
        Network {
            delay: Time::from_us(10),
            jitter: Time::ZERO,
            loss: 0.0,
            doubled: 0.0,
            buffer: 64 << 10,
            pieces: false,
            far: None,
            strangers: false,
        }
    }
}

impl Network {
    /// How much longer than the delay something takes.
    pub(super) fn more(&self, chance: &mut Pcg64) -> Time {
        Time::from_ps(chance.random_range(0..=self.jitter.as_ps()))
    }

    /// How much longer a stream between two hosts takes.
    pub(super) fn distance(&self, a: HostId, b: HostId) -> Time {
        match self.far {
            Some((c, d, more)) if (a, b) == (c, d) || (a, b) == (d, c) => more,
            _ => Time::ZERO,
        }
    }

    /// How many copies of a datagram arrive.
    pub(super) fn copies(&self, chance: &mut Pcg64) -> u32 {
        if chance.random_bool(self.loss) { 0 } else { 1 + u32::from(chance.random_bool(self.doubled)) }
    }
}
