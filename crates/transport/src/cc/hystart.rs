//! HyStart++: leaves slow start when the round-trip time rises.
//!
//! Source: RFC 9406 4.2 and 4.3, with its recommended constants, for a sender without pacing (L = 8).
//!
//! HyStart++ looks at delays of milliseconds, which no switch of a data centre causes. HyStart (S. Ha and
//! I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55, 2011, section 3.1) looks at
//! trains of acknowledgements too, and Linux still does. Its constants are Linux's (`tcp_cubic.c`).

use super::input::{Ack, Window};
use units::Time;

const MIN_RTT_THRESH: Time = Time::from_ms(4);
const MAX_RTT_THRESH: Time = Time::from_ms(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
const L: u64 = 8;
/// Windows below so many segments are too small for a train.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements further apart are not of one train.
const ACK_DELTA: Time = Time::from_ms(2);
/// What Linux allows for the bursts of its own sender: four of 64 KiB at the rate at which it would pace, two
/// windows a round trip, and at most a millisecond.
const BURSTS: u64 = 4 * 65_536;
const BURSTS_MAX: Time = Time::from_ms(1);

/// Variables of a connection in its first slow start, named as in RFC 9406.
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    window_end: u64,
    last_round_min_rtt: Time,
    current_round_min_rtt: Time,
    rtt_sample_count: u32,
    /// Rounds spent in conservative slow start; none outside of it.
    css_rounds: Option<u32>,
    css_baseline_min_rtt: Time,
    train: Option<Train>,
}

/// Acknowledgements of a round, one close after the other.
#[derive(Clone, Debug, Default)]
struct Train {
    began: Time,
    last: Time,
    min_rtt: Option<Time>,
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart {
            window_end: 0,
            last_round_min_rtt: Time::MAX,
            current_round_min_rtt: Time::MAX,
            rtt_sample_count: 0,
            css_rounds: None,
            css_baseline_min_rtt: Time::MAX,
            train: None,
        }
    }
}

impl HyStart {
    /// With trains of acknowledgements, or without.
    pub fn new(train: bool) -> HyStart {
        HyStart { train: train.then(Train::default), ..HyStart::default() }
    }

    /// Grows the window for an acknowledgement in slow start; returns the bytes left for congestion
    /// avoidance.
    pub fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        if ack.una > self.window_end {
            self.start_round(window, ack.nxt);
            self.train.iter_mut().for_each(|train| (train.began, train.last) = (ack.now, ack.now));
        }
        let grown = ack.delivered.min(L * window.mss);
        let grown = if self.css_rounds.is_some() { grown / CSS_GROWTH_DIVISOR } else { grown };
        let grown = grown.min(window.ssthresh.saturating_sub(window.cwnd));
        window.cwnd += grown;
        if ack.rtt != Time::ZERO {
            self.sample(ack.rtt);
            if self.train.as_mut().is_some_and(|train| train.is_long(window, ack)) {
                window.ssthresh = window.cwnd;
            }
        }
        if window.cwnd >= window.ssthresh { ack.delivered - grown } else { 0 }
    }

    fn start_round(&mut self, window: &mut Window, nxt: u64) {
        self.window_end = nxt;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Time::MAX;
        self.rtt_sample_count = 0;
        if let Some(rounds) = &mut self.css_rounds {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd;
            }
        }
    }

    fn sample(&mut self, rtt: Time) {
        self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE || self.current_round_min_rtt == Time::MAX {
            return;
        }
        if self.css_rounds.is_some() {
            if self.current_round_min_rtt < self.css_baseline_min_rtt {
                self.css_baseline_min_rtt = Time::MAX;
                self.css_rounds = None;
            }
        } else if self.last_round_min_rtt != Time::MAX {
            let eighth = Time::from_ps(self.last_round_min_rtt.as_ps() / MIN_RTT_DIVISOR);
            let thresh = eighth.max(MIN_RTT_THRESH).min(MAX_RTT_THRESH);
            if self.current_round_min_rtt >= self.last_round_min_rtt.saturating_add(thresh) {
                self.css_baseline_min_rtt = self.current_round_min_rtt;
                self.css_rounds = Some(0);
            }
        }
    }

    /// Moves its times.
    pub fn shift(&mut self, by: Time) {
        if let Some(train) = &mut self.train {
            train.began += by;
            train.last += by;
        }
    }
}

impl Train {
    /// Whether it has become as long as half of the least round trip, and so the window as large as the path.
    fn is_long(&mut self, window: &Window, ack: &Ack) -> bool {
        let min_rtt = self.min_rtt.map_or(ack.rtt, |least| least.min(ack.rtt));
        self.min_rtt = Some(min_rtt);
        if window.cwnd < LOW_WINDOW * window.mss || ack.now - self.last > ACK_DELTA {
            return false;
        }
        self.last = ack.now;
        let bursts = u128::from(BURSTS) * u128::from(ack.srtt.as_ps()) / u128::from(2 * window.cwnd);
        let bursts = Time::from_ps(bursts.min(u128::from(BURSTS_MAX.as_ps())) as u64);
        (ack.now - self.began).as_ps() > min_rtt.saturating_add(bursts).as_ps() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(h: &mut HyStart, w: &mut Window, number: u64, rtt: Time) {
        for i in 0..8 {
            let ack = Ack {
                now: Time::ZERO,
                delivered: 1000,
                una: number * 100 + 1 + i,
                nxt: number * 100 + 100,
                rtt,
                srtt: rtt,
                in_flight: 0,
            };
            h.slow_start(w, &ack);
        }
    }

    #[test]
    fn a_rising_round_trip_starts_css_and_five_rounds_end_slow_start() {
        let (mut h, mut w) = (HyStart::default(), Window { cwnd: 10_000, ssthresh: u64::MAX, mss: 1000 });
        round(&mut h, &mut w, 0, Time::from_ms(20));
        round(&mut h, &mut w, 1, Time::from_ms(23));
        assert_eq!(h.css_rounds, None, "3 ms is below the threshold");
        round(&mut h, &mut w, 2, Time::from_ms(27));
        assert_eq!(h.css_rounds, Some(0));
        let before = w.cwnd;
        for number in 3..7 {
            round(&mut h, &mut w, number, Time::from_ms(27));
        }
        assert_eq!(w.cwnd - before, 4 * 8 * 250, "a quarter of slow start");
        assert_eq!(w.ssthresh, u64::MAX);
        round(&mut h, &mut w, 7, Time::from_ms(27));
        assert!(w.ssthresh < u64::MAX);
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let at = |us: u64, h: &mut HyStart, w: &mut Window| {
            let (now, rtt) = (Time::from_us(us), Time::from_us(400));
            let ack = Ack { now, delivered: 1000, una: 1, nxt: 100, rtt, srtt: rtt, in_flight: 0 };
            h.slow_start(w, &ack);
        };
        // 256 KiB take 4 us at two windows of 12 MB a round trip: half of 404 us are allowed.
        let large = || Window { cwnd: 12_000_000, ssthresh: u64::MAX, mss: 1000 };
        for (train, last, ends) in [(true, 203, true), (true, 201, false), (false, 203, false)] {
            let (mut h, mut w) = (HyStart::new(train), large());
            (0..=200).step_by(20).for_each(|us| at(us, &mut h, &mut w));
            assert_eq!(w.ssthresh, u64::MAX);
            at(last, &mut h, &mut w);
            assert_eq!(w.ssthresh < u64::MAX, ends, "{train} {last}");
        }
    }

    #[test]
    fn a_falling_round_trip_resumes_slow_start() {
        let (mut h, mut w) = (HyStart::default(), Window { cwnd: 10_000, ssthresh: u64::MAX, mss: 1000 });
        for (number, ms) in [20, 26, 22].into_iter().enumerate() {
            round(&mut h, &mut w, number as u64, Time::from_ms(ms));
        }
        assert_eq!(h.css_rounds, None);
    }
}
