//! How fast data is delivered: one sample for each acknowledgement.
//!
//! What it knows of a segment lies in a ring of its own, which only connections have that need it; the
//! scoreboard's segments stay small. Segments are found by where they end.
//! Source: draft-cheng-iccrg-delivery-rate-estimation-00 3.1 to 3.4; names as there.

use std::collections::VecDeque;
use units::Time;

/// The state when a segment was sent last.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    sent_time: Time,
    first_sent_time: Time,
    delivered: u64,
    delivered_time: Time,
    is_app_limited: bool,
    /// It was SACKED and has counted.
    counted: bool,
}

/// What an acknowledgement says of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Bytes per second; zero when the sample is none.
    pub delivery_rate: u64,
    /// The sender had nothing to send meanwhile.
    pub is_app_limited: bool,
    /// `C.delivered` when the newest segment acknowledged was sent.
    pub prior_delivered: u64,
}

/// The state of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    segments: VecDeque<Sent>,
    /// C.delivered: bytes delivered in all.
    pub delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    /// C.app_limited: samples are limited by the application until so much is delivered; zero for not.
    pub app_limited: u64,
    /// The newest of the segments that the present acknowledgement delivers.
    newest: Option<Sent>,
}

impl RateSampler {
    /// A segment that ends at `end` goes out; `idle` when nothing was in flight (3.2).
    pub fn send(&mut self, now: Time, end: u64, idle: bool) {
        if idle {
            self.first_sent_time = now;
            self.delivered_time = now;
        }
        let sent = Sent {
            end,
            sent_time: now,
            first_sent_time: self.first_sent_time,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            is_app_limited: self.app_limited != 0,
            counted: false,
        };
        let index = self.index_of(end);
        match self.segments.get_mut(index) {
            Some(again) => *again = sent,
            None => self.segments.push_back(sent),
        }
    }

    fn index_of(&self, end: u64) -> usize {
        match self.segments.back() {
            Some(last) if last.end < end => self.segments.len(),
            _ => self.segments.partition_point(|sent| sent.end < end),
        }
    }

    /// The segment that ends at `end` was SACKED (3.3).
    pub fn sack(&mut self, end: u64) {
        let index = self.index_of(end);
        if let Some(sent) = self.segments.get_mut(index) {
            sent.counted = true;
            let sent = *sent;
            self.consider(sent);
        }
    }

    /// Takes the segment as the newest delivered unless one was sent later.
    fn consider(&mut self, sent: Sent) {
        if self.newest.is_none_or(|newest| (sent.delivered, sent.end) > (newest.delivered, newest.end)) {
            self.newest = Some(sent);
        }
    }

    /// All up to `una` is acknowledged, and with what was SACKED `delivered` bytes are new. Works out the
    /// sample (3.3); an interval shorter than `min_rtt` gives no rate.
    pub fn acknowledge(&mut self, now: Time, una: u64, delivered: u64, min_rtt: Time) -> RateSample {
        while let Some(&sent) = self.segments.front().filter(|sent| sent.end <= una) {
            self.segments.pop_front();
            if !sent.counted {
                self.consider(sent);
            }
        }
        self.delivered += delivered;
        if delivered > 0 {
            self.delivered_time = now;
        }
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Some(newest) = self.newest.take() else { return RateSample::default() };
        self.first_sent_time = newest.sent_time;
        let send_elapsed = newest.sent_time - newest.first_sent_time;
        let ack_elapsed = now - newest.delivered_time;
        let interval = send_elapsed.max(ack_elapsed);
        let bytes = self.delivered - newest.delivered;
        let rate = if interval < min_rtt || interval == Time::ZERO { 0 } else { per_second(bytes, interval) };
        RateSample {
            delivery_rate: rate,
            is_app_limited: newest.is_app_limited,
            prior_delivered: newest.delivered,
        }
    }

    /// Moves its times.
    pub fn shift(&mut self, by: Time) {
        for sent in self.segments.iter_mut().chain(&mut self.newest) {
            for time in [&mut sent.sent_time, &mut sent.first_sent_time, &mut sent.delivered_time] {
                *time += by;
            }
        }
        self.delivered_time += by;
        self.first_sent_time += by;
    }

    /// The application has nothing more to send, with `in_flight` bytes on their way (3.4).
    pub fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}

/// Bytes per second.
fn per_second(bytes: u64, interval: Time) -> u64 {
    (u128::from(bytes) * 1_000_000_000_000 / u128::from(interval.as_ps())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_ms;

    #[test]
    fn the_rate_is_what_was_delivered_over_the_longer_of_both_intervals() {
        let mut rate = RateSampler::default();
        // Ten segments a millisecond apart, acknowledged 10 ms later two milliseconds apart: 500 kB/s.
        for i in 1..=10 {
            rate.send(MS(i), 1000 * i, i == 1);
        }
        let mut last = RateSample::default();
        for i in 1..=10 {
            last = rate.acknowledge(MS(9 + 2 * i), 1000 * i, 1000, MS(10));
        }
        // The tenth was sent before anything was delivered: 10 kB in the 28 ms since the flight began.
        assert_eq!(last.delivery_rate, 10_000 * 1000 / 28);
        assert_eq!(last.prior_delivered, 0);
        for i in 11..=20 {
            rate.send(MS(20 + i), 1000 * i, i == 11);
        }
        for i in 11..=20 {
            last = rate.acknowledge(MS(20 + 2 * i), 1000 * i, 1000, MS(1));
        }
        assert_eq!((last.prior_delivered, rate.delivered), (10_000, 20_000));
        assert_eq!(last.delivery_rate, 10_000 * 1000 / 29);
    }

    #[test]
    fn compressed_acknowledgements_do_not_look_fast() {
        let mut rate = RateSampler::default();
        for i in 1..=10 {
            rate.send(MS(i), 1000 * i, i == 1);
        }
        // The first after 20 ms; the rest all at once with it: the sending rate bounds the sample.
        rate.acknowledge(MS(21), 1000, 1000, MS(1));
        let sample = rate.acknowledge(MS(21), 10_000, 9000, MS(1));
        assert_eq!(sample.delivery_rate, 10_000 * 1000 / 20);
    }

    #[test]
    fn an_interval_shorter_than_the_least_round_trip_is_no_sample() {
        let mut rate = RateSampler::default();
        rate.send(MS(1), 1000, true);
        assert_eq!(rate.acknowledge(MS(2), 1000, 1000, MS(5)).delivery_rate, 0);
    }

    #[test]
    fn a_sacked_segment_counts_once_and_a_resent_one_from_when_it_was_sent_again() {
        let mut rate = RateSampler::default();
        for i in 1..=3 {
            rate.send(MS(i), 1000 * i, i == 1);
        }
        rate.sack(3000);
        let sample = rate.acknowledge(MS(11), 0, 1000, MS(1));
        assert_eq!((sample.delivery_rate, rate.delivered), (1000 * 1000 / 10, 1000));
        rate.send(MS(12), 1000, false);
        let sample = rate.acknowledge(MS(22), 3000, 2000, MS(1));
        // Sent again when 1000 bytes had been delivered, at 11 ms: 2000 bytes in 11 ms.
        assert_eq!((sample.prior_delivered, sample.delivery_rate), (1000, 2000 * 1000 / 11));
    }

    #[test]
    fn samples_are_limited_by_the_application_until_the_bubble_is_delivered() {
        let mut rate = RateSampler::default();
        rate.limit_by_application(0);
        rate.send(MS(1), 1000, true);
        assert!(rate.acknowledge(MS(5), 1000, 1000, MS(1)).is_app_limited);
        rate.send(MS(6), 2000, true);
        assert!(!rate.acknowledge(MS(10), 2000, 1000, MS(1)).is_app_limited);
    }
}
