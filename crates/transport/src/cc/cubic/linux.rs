//! CUBIC's growth as Linux computes it, which differs from RFC 9438 in two respects.
//!
//! Until the first loss the window grows by a twentieth per round trip, however flat the cubic is. And the
//! speed of growth is computed again only when the window has changed, or after 1/32 s. A window that the
//! cubic leaves alone stays as it is for that long, or for a hundred round trips if they take less.
//!
//! Source: `bictcp_update` in `tcp_cubic.c` and `tcp_cong_avoid_ai` of Linux 6.12. Its clock ticks once per
//! jiffy, and this one does not.

use super::{Cubic, binary_seconds};
use crate::cc::input::{Ack, Window};
use units::Time;

/// The speed of growth holds for so long while the window stays the same (`HZ / 32`).
const HOLDS: Time = Time::from_us(31_250);
/// Segments to be acknowledged per segment of growth, at most, before the first loss: 5 % per round trip.
const UNKNOWN: u64 = 20;
/// The same where the cubic does not grow, in windows.
const FLAT: u64 = 100;
/// The same at least: half of a window per round trip.
const LEAST: u64 = 2;
/// A Reno flow with beta 0.7 grows by a segment per 15/8 windows (`beta_scale`).
const RENO: (u64, u64) = (15, 8);

/// Variables of `struct bictcp`, in segments unless they say otherwise.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    /// The window when the speed was computed, and when that was.
    window: u64,
    at: Option<Time>,
    /// Segments to be acknowledged per segment of growth (`cnt`).
    per_segment: u64,
    /// Bytes acknowledged since the Reno flow's window grew.
    acked: u64,
    /// Window of a Reno flow (`tcp_cwnd`).
    reno: u64,
    /// Bytes acknowledged since the window grew (`snd_cwnd_cnt`).
    counted: u64,
    /// Nothing was lost yet, or since a timeout (`last_max_cwnd` is 0).
    unknown: bool,
    min_rtt: Time,
}

impl Growth {
    pub fn new() -> Box<Growth> {
        Box::new(Growth {
            window: 0,
            at: None,
            per_segment: LEAST,
            acked: 0,
            reno: 0,
            counted: 0,
            unknown: true,
            min_rtt: Time::MAX,
        })
    }

    /// The window is reduced.
    pub fn reduce(&mut self, is_timeout: bool) {
        self.unknown = is_timeout;
        self.counted = 0;
    }

    /// Moves its time.
    pub fn shift(&mut self, by: Time) {
        self.at = self.at.map(|at| at + by);
    }

    /// Limits the speed to that of a Reno flow at least, and to the greatest that there is.
    fn keep_up_with_reno(&mut self, mss: u64) {
        let step = (self.window * mss * RENO.0 / RENO.1).max(1);
        // The last one is counted once more has come.
        let grown = self.acked.saturating_sub(1) / step;
        self.acked -= grown * step;
        self.reno += grown;
        if self.reno > self.window {
            self.per_segment = self.per_segment.min(self.window / (self.reno - self.window));
        }
        self.per_segment = self.per_segment.max(LEAST);
    }

    /// `tcp_cong_avoid_ai`.
    fn grow(&mut self, window: &mut Window, delivered: u64) {
        let needed = self.per_segment * window.mss;
        if self.counted >= needed {
            // The speed has risen since.
            self.counted = 0;
            window.cwnd += window.mss;
        }
        self.counted += delivered;
        let grown = self.counted / needed;
        self.counted -= grown * needed;
        window.cwnd += grown * window.mss;
    }
}

impl Cubic {
    /// Congestion avoidance.
    pub(super) fn avoid_as_linux(
        &mut self,
        growth: &mut Growth,
        window: &mut Window,
        delivered: u64,
        ack: &Ack,
    ) {
        growth.acked += delivered;
        if ack.rtt != Time::ZERO {
            growth.min_rtt = growth.min_rtt.min(ack.rtt);
        }
        let segments = window.cwnd / window.mss;
        if segments != growth.window || growth.at.is_none_or(|at| ack.now > at.saturating_add(HOLDS)) {
            (growth.window, growth.at) = (segments, Some(ack.now));
            self.compute_speed(growth, window, delivered, ack);
        }
        growth.grow(window, delivered);
    }

    #[cold]
    fn compute_speed(&mut self, growth: &mut Growth, window: &Window, delivered: u64, ack: &Ack) {
        let segments = growth.window;
        let epoch = self.epoch.unwrap_or_else(|| {
            (growth.acked, growth.reno) = (delivered, segments);
            self.start_epoch(window, ack.now)
        });
        let ahead = if growth.min_rtt == Time::MAX { ack.srtt } else { growth.min_rtt };
        let t = binary_seconds(ack.now - epoch) + binary_seconds(ahead);
        let missing = (self.w_cubic(t, window.mss) / window.mss).saturating_sub(segments);
        growth.per_segment = segments.checked_div(missing).unwrap_or(FLAT * segments);
        if growth.unknown {
            growth.per_segment = growth.per_segment.min(UNKNOWN);
        }
        growth.keep_up_with_reno(window.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::input::Signal;

    const MSS: u64 = 1000;
    const ROUND: Time = Time::from_us(200);

    /// The window after so many round trips in which it is used, from one of 100 segments.
    fn after(cubic: &mut Cubic, window: &mut Window, start: Time, rounds: u64) -> u64 {
        for round in 0..rounds {
            let now = start + Time::from_ps(round * ROUND.as_ps());
            for _ in 0..window.cwnd / MSS {
                let ack = Ack { now, delivered: MSS, una: 0, nxt: 0, rtt: ROUND, srtt: ROUND, in_flight: 0 };
                cubic.avoid(window, MSS, &ack);
            }
        }
        window.cwnd / MSS
    }

    fn hundred() -> (Cubic, Window) {
        (Cubic::new(true), Window { cwnd: 100 * MSS, ssthresh: 0, mss: MSS })
    }

    #[test]
    fn before_a_loss_the_window_grows_by_a_twentieth_per_round_trip() {
        let (mut cubic, mut window) = hundred();
        assert_eq!(after(&mut cubic, &mut window, Time::ZERO, 10), 162, "100 * 1.05^10, in whole segments");
    }

    #[test]
    fn after_a_loss_it_stays_for_a_hundred_round_trips_and_then_catches_up_with_reno() {
        let (mut cubic, mut window) = hundred();
        window.ssthresh = cubic.reduce(&window, Signal::Loss, window.cwnd);
        window.cwnd = window.ssthresh;
        assert_eq!(after(&mut cubic, &mut window, Time::ZERO, 99), 70);
        let start = Time::from_ps(99 * ROUND.as_ps());
        // 100 rounds of 8/15 of a segment each are 53.
        let caught_up = after(&mut cubic, &mut window, start, 5);
        assert!((120..=126).contains(&caught_up), "{caught_up}");
    }
}
