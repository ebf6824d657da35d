//! How the receive buffer grows: dynamic right-sizing.
//!
//! Once a round trip it compares what the application read with the buffer and makes room for twice
//! as much. Source: Fisk and Feng 2001, as Linux's `tcp_rcv_space_adjust` does it.

use units::Time;

/// The receive buffer and what was read in the present round trip.
#[derive(Clone, Debug)]
pub(crate) struct RightSizing {
    buffer: u64,
    max: u32,
    /// The round trip in microseconds, queues on the way included.
    rtt_us: u32,
    /// When the present round trip is over; [`Time::MAX`] when the buffer cannot grow.
    pub round_end: Time,
    /// Bytes read in the best round trip so far.
    space: u64,
    /// Offset read at the start of the round trip.
    mark: u64,
}

/// The largest window that can be offered (RFC 7323 2.3), in bytes.
const WINDOW_MAX: u64 = 1 << 30;
/// Segments of slack that Linux adds.
const SLACK_SEGMENTS: u64 = 16;

impl RightSizing {
    pub fn new(buffer: u64, max: u64, initial_space: u64) -> RightSizing {
        let buffer = buffer.min(WINDOW_MAX);
        let max = max.clamp(buffer, WINDOW_MAX) as u32;
        let round_end = if buffer < u64::from(max) { Time::ZERO } else { Time::MAX };
        RightSizing { buffer, max, rtt_us: 0, round_end, space: initial_space, mark: 1 }
    }

    #[inline]
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Starts from a round trip measured otherwise, unless there was one before.
    pub fn start(&mut self, rtt: Time) {
        if self.rtt_us == 0 {
            self.rtt_us = (rtt.as_us() as u32).max(1);
        }
    }

    /// A round trip in microseconds as timestamps tell it. A sender that paused echoes an old one, so it at
    /// most doubles.
    pub fn sample(&mut self, us: u32) {
        self.rtt_us = us.clamp(1, self.rtt_us.saturating_mul(2).max(1));
    }

    /// A round trip is over: `read` is the offset read so far.
    #[cold]
    pub fn adjust(&mut self, now: Time, read: u64, mss: u64) {
        let copied = read.saturating_sub(self.mark);
        if copied > self.space {
            let wanted = 2 * copied + SLACK_SEGMENTS * mss;
            // Room for a sender in slow start to double again.
            let growth = u128::from(wanted) * u128::from(copied - self.space) / u128::from(self.space.max(1));
            let wanted = u128::from(wanted) + 2 * growth;
            self.buffer = self.buffer.max(wanted.min(u128::from(self.max)) as u64);
            self.space = copied;
        }
        self.mark = read;
        self.round_end = if self.buffer < u64::from(self.max) {
            now.saturating_add(Time::from_us(u64::from(self.rtt_us)))
        } else {
            Time::MAX
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_follows_what_was_read_and_stops_at_the_greatest() {
        let mut s = RightSizing::new(100_000, 1_000_000, 14_600);
        s.adjust(Time::from_ms(1), 10_001, 1460);
        assert_eq!(s.buffer(), 100_000, "less than before");
        s.adjust(Time::from_ms(2), 10_001 + 29_200, 1460);
        // 2 * 29200 + 16 * 1460 = 81760, and twice as much again since the rate doubled.
        assert_eq!(s.buffer(), 3 * 81_760);
        s.adjust(Time::from_ms(3), 10_001_000, 1460);
        assert_eq!(s.buffer(), 1_000_000);
        assert_eq!(s.round_end, Time::MAX);
    }

    #[test]
    fn a_round_trip_at_most_doubles_and_shrinks_at_once() {
        let mut s = RightSizing::new(100_000, 1_000_000, 14_600);
        s.start(Time::from_us(10));
        s.start(Time::from_secs(1));
        s.sample(1_000_000);
        assert_eq!(s.rtt_us, 20, "a pause is not a round trip");
        s.sample(30);
        assert_eq!(s.rtt_us, 30);
        s.sample(0);
        assert_eq!(s.rtt_us, 1);
        s.adjust(Time::from_ms(1), 10_001, 1460);
        assert_eq!(s.round_end, Time::from_us(1001));
    }
}
