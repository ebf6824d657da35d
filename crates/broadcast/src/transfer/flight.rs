//! How much may be in transit to a child: enough to fill the path, and little more.
//!
//! Data that a stream has taken can't be taken back, and those of a slow child would wait there;
//! confirmations of what the child sends to others would wait too. So a parent keeps little more than a
//! bandwidth-delay product in transit, from its estimates of both, as BBR does (Cardwell et al. 2016): the
//! highest recent rate of confirmed chunks, times the shortest time from a chunk to its confirmation.
//!
//! While the rate grows the limit is two such products, so that it doubles each round trip, and on a long
//! path four at first. Chunks are confirmed whole, so the estimate is a round trip older than what TCP's slow
//! start knows, and a smaller limit would keep TCP from growing.

use std::collections::VecDeque;
use units::Time;

/// Chunks that may be on their way whatever the estimates say.
const LEAST_CHUNKS: u64 = 2;
/// The same in bytes. Confirmations wait behind what the child sends itself, which the shortest time to one
/// of them does not show.
const LEAST_BYTES: u64 = 32 << 10;
/// The highest rate is remembered for one to two times so many shortest round trips, and one to two times
/// [`LEAST_EPOCH`].
const EPOCH_TRIPS: u64 = 16;
const LEAST_EPOCH: Time = Time::from_ms(100);
/// A path is long when a chunk takes at least this long, and at least twice the time to the next one: so the
/// link is not slow.
const LONG: Time = Time::from_ms(100);

/// A chunk on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    bytes: u64,
    /// Confirmed when it was sent, in bytes, and when that was.
    delivered: u64,
    delivered_at: Time,
}

/// What is on its way to a child.
#[derive(Debug)]
pub(crate) struct Flight {
    /// Bytes of a chunk.
    chunk: u64,
    sent: VecDeque<Sent>,
    bytes: u64,
    delivered: u64,
    delivered_at: Time,
    trip: Option<Time>,
    is_long: bool,
    /// Highest rates in bytes a second: of the present epoch and of the one before.
    rates: [u64; 2],
    epoch: Time,
    /// The rate grew in the last epoch.
    grows: bool,
}

impl Flight {
    /// Nothing is on its way; chunks are of `chunk` bytes.
    pub(crate) fn new(chunk: u64) -> Flight {
        Flight {
            chunk,
            sent: VecDeque::new(),
            bytes: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            trip: None,
            is_long: false,
            rates: [0; 2],
            epoch: Time::ZERO,
            grows: true,
        }
    }

    /// Whether another chunk of `bytes` may be sent.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.sent.is_empty() || self.bytes + bytes <= self.bound()
    }

    fn bound(&self) -> u64 {
        let rate = u128::from(self.rates[0].max(self.rates[1]));
        let trip = u128::from(self.trip.unwrap_or(Time::ZERO).as_ps());
        let product = rate * trip / 1_000_000_000_000;
        let bound = match () {
            () if self.is_long && self.rates[1] == 0 => 4 * product,
            () if self.grows => 2 * product,
            () => product + (product / 4).max(u128::from(self.chunk)),
        };
        u64::try_from(bound).unwrap_or(u64::MAX).max(LEAST_CHUNKS * self.chunk).max(LEAST_BYTES)
    }

    /// A chunk is given to the stream.
    pub(crate) fn on_sent(&mut self, bytes: u64, now: Time) {
        if self.sent.is_empty() {
            self.delivered_at = now;
        }
        let (delivered, delivered_at) = (self.delivered, self.delivered_at);
        self.sent.push_back(Sent { at: now, bytes, delivered, delivered_at });
        self.bytes += bytes;
    }

    /// The child has confirmed a chunk; how many bytes it had. Nothing when none was on its way.
    pub(crate) fn on_got(&mut self, now: Time) -> Option<u64> {
        let sent = self.sent.pop_front()?;
        self.bytes -= sent.bytes;
        self.delivered += sent.bytes;
        let trip = now.saturating_sub(sent.at);
        let least = self.trip.map_or(trip, |least| least.min(trip));
        // The first comes after nothing, and those that come together say nothing.
        let apart = now.saturating_sub(self.delivered_at);
        if self.trip.is_some() && apart > Time::ZERO {
            self.is_long = least >= LONG && apart.saturating_mul(2) <= least;
        }
        self.trip = Some(least);
        let (bytes, time) = (self.delivered - sent.delivered, now.saturating_sub(sent.delivered_at).as_ps());
        let rate = u128::from(bytes) * 1_000_000_000_000 / u128::from(time.max(1));
        self.remember(u64::try_from(rate).unwrap_or(u64::MAX), now);
        self.delivered_at = now;
        Some(sent.bytes)
    }

    fn remember(&mut self, rate: u64, now: Time) {
        if now >= self.epoch {
            self.grows = self.rates[0] * 4 > self.rates[1] * 5 || self.epoch == Time::ZERO;
            self.rates = [0, self.rates[0]];
            let trips = self.trip.unwrap_or(Time::ZERO).saturating_mul(EPOCH_TRIPS);
            self.epoch = now.saturating_add(trips.max(LEAST_EPOCH));
        }
        self.rates[0] = self.rates[0].max(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 10_000;

    /// A path with a rate in bytes a second and a delay: how many bytes arrive in `time` when the flight
    /// decides.
    fn run(flight: &mut Flight, rate: u64, delay: Time, from: Time, time: Time) -> (u64, Time) {
        let mut now = from;
        let (mut free, mut came) = (from, 0);
        let mut under_way: VecDeque<Time> = VecDeque::new();
        while now < from + time {
            while flight.has_room(CHUNK) {
                flight.on_sent(CHUNK, now);
                free = free.max(now) + Time::from_ps(CHUNK * 1_000_000_000_000 / rate);
                under_way.push_back(free + delay);
            }
            now = under_way.pop_front().expect("one at least is on its way");
            assert_eq!(flight.on_got(now), Some(CHUNK));
            came += CHUNK;
        }
        while let Some(at) = under_way.pop_front() {
            now = at;
            flight.on_got(at);
        }
        (came, now)
    }

    #[test]
    fn a_long_path_is_filled() {
        let mut flight = Flight::new(CHUNK);
        let (rate, time) = (12_500_000, Time::from_secs(5));
        let (came, _) = run(&mut flight, rate, Time::from_ms(100), Time::ZERO, time);
        assert!(came > 5 * rate * 80 / 100, "{came}");
    }

    #[test]
    fn a_path_that_gets_slow_has_little_on_it() {
        let mut flight = Flight::new(CHUNK);
        let (_, now) = run(&mut flight, 12_500_000, Time::from_ms(10), Time::ZERO, Time::from_secs(1));
        assert!(flight.bound() >= 125_000);
        run(&mut flight, 1_250_000, Time::from_ms(10), now, Time::from_secs(1));
        assert!(flight.bound() <= LEAST_BYTES + 2 * 12_500, "{}", flight.bound());
    }

    #[test]
    fn a_confirmation_of_nothing_is_none() {
        assert_eq!(Flight::new(CHUNK).on_got(Time::ZERO), None);
    }
}
