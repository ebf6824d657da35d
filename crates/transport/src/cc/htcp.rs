//! H-TCP: the increase grows with the time since the last congestion, the decrease follows the queue.
//!
//! Integers only: alpha and beta in units of 1/1024, times in microseconds, windows in bytes.
//! Source: draft-leith-tcp-htcp-06: alpha, adaptive backoff with its throughput rule, RTT scaling. As Linux's
//! `tcp_htcp` where that is narrower: adaptive backoff above a round trip of 10 ms only, alpha renewed as the
//! window grows, a maximum of the round-trip time that fades. Unlike Linux, alpha is one again right after a
//! reduction (there it stays until the window has grown once).
//!
//! Checked against FreeBSD's `cc_htcp`, which is after the draft, and Linux's, not against the draft's own
//! text: the increase function, `2 (1 - beta) f`, beta's bounds of 0.5 and 0.8, the throughput rule of a
//! fifth, and the scaling by RTT / 100 ms between 0.1 and 2. Where beta is above 0.5, alpha is below one
//! within Delta_L, as in Linux; FreeBSD holds it at one.

use super::input::{Ack, Signal, Window};
use units::Time;

/// One, in fixed point.
const ONE: u64 = 1 << 10;
/// Delta_L: so long after a congestion the increase is Reno's.
const DELTA_L: Time = Time::from_secs(1);
/// The least and greatest beta: 0.5 and 0.8.
const BETA_MIN: u64 = ONE / 2;
const BETA_MAX: u64 = ONE * 4 / 5;
/// The round-trip time at which RTT scaling changes nothing, and how far it goes: a tenth, twice.
const RTT_REFERENCE: Time = Time::from_ms(100);
const SCALE: (u64, u64) = (ONE / 10, 2 * ONE);
/// Adaptive backoff needs a least round trip above it (Linux).
const ADAPTS_ABOVE: Time = Time::from_ms(10);
/// The greatest round trip seen rises by at most so much a sample (Linux).
const RTT_STEP: Time = Time::from_ms(20);
/// After a congestion the throughput of so many round trips is taken without averaging (Linux).
const SETTLING_ROUNDS: u64 = 3;

/// H-TCP's variables.
#[derive(Clone, Debug)]
pub(crate) struct Htcp {
    alpha: u64,
    beta: u64,
    rtt_scaling: bool,
    /// Adaptive backoff was possible at the last congestion too.
    adapts: bool,
    /// A reduction has taken place and recovery is not yet over.
    congested: bool,
    /// No acknowledgement has come since that reduction.
    entering: bool,
    /// When the last congestion was over; until then, when it began (Linux's `htcp_state`).
    last_congestion: Time,
    /// Bytes delivered times alpha, not yet given.
    credit: u128,
    rtt_min: Time,
    rtt_max: Time,
    throughput: Throughput,
}

/// The throughput reached between congestions, in bytes per second.
#[derive(Clone, Debug, Default)]
struct Throughput {
    delivered: u64,
    since: Time,
    average: u64,
    /// The greatest average since the last congestion, and that of the time before it: B(k + 1) and B(k).
    max: u64,
    max_before: u64,
}

impl Htcp {
    pub fn new(rtt_scaling: bool) -> Htcp {
        Htcp {
            alpha: ONE,
            beta: BETA_MIN,
            rtt_scaling,
            adapts: false,
            congested: false,
            entering: false,
            last_congestion: Time::ZERO,
            credit: 0,
            rtt_min: Time::MAX,
            rtt_max: Time::ZERO,
            throughput: Throughput::default(),
        }
    }

    /// Measures round trips and throughput; `open` outside of recovery and reduction.
    #[inline(never)]
    pub fn observe(&mut self, window: &Window, ack: &Ack, open: bool) {
        if ack.rtt != Time::ZERO {
            self.rtt_min = self.rtt_min.min(ack.rtt);
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if open && ack.rtt <= self.rtt_max.saturating_add(RTT_STEP) {
                self.rtt_max = self.rtt_max.max(ack.rtt);
            }
        }
        if self.congested && (open || self.entering) {
            self.last_congestion = ack.now;
            (self.congested, self.entering) = (!open, false);
        }
        if !open {
            self.throughput.delivered = 0;
            self.throughput.since = ack.now;
            return;
        }
        self.throughput.delivered += ack.delivered;
        let grown = self.alpha.max(ONE) * window.mss / ONE;
        let elapsed = ack.now - self.throughput.since;
        if self.throughput.delivered + grown >= window.cwnd && elapsed >= self.rtt_min {
            let settled = self.since_congestion(ack.now).as_ps() / self.rtt_min.as_ps().max(1);
            self.throughput.take(ack.now, elapsed, settled <= SETTLING_ROUNDS);
        }
    }

    fn since_congestion(&self, now: Time) -> Time {
        now.saturating_sub(self.last_congestion)
    }

    /// Grows the window by alpha segments for each window of bytes delivered.
    pub fn avoid(&mut self, window: &mut Window, delivered: u64, now: Time) {
        self.credit += u128::from(delivered) * u128::from(self.alpha);
        let segment = u128::from(window.cwnd) * u128::from(ONE);
        if self.credit >= segment {
            let segments = (self.credit / segment) as u64;
            self.credit %= segment;
            // Never faster than slow start.
            window.cwnd += (segments * window.mss).min(delivered.max(window.mss));
            self.alpha = self.alpha_after(self.since_congestion(now));
        }
    }

    /// alpha = 2 (1 - beta) f(Delta), f scaled by the round-trip time.
    fn alpha_after(&self, delta: Time) -> u64 {
        let factor = if self.rtt_scaling && self.rtt_min != Time::MAX {
            let (least, most) = SCALE;
            let scale = self.rtt_min.as_us() * ONE / RTT_REFERENCE.as_us();
            (increase(delta) * scale.clamp(least, most) / ONE).max(ONE)
        } else {
            increase(delta)
        };
        2 * (ONE - self.beta) * factor / ONE
    }

    /// A congestion: works out beta and starts alpha again. Returns ssthresh.
    pub fn reduce(&mut self, window: &Window, signal: Signal, flight: u64) -> u64 {
        self.update_beta();
        (self.congested, self.entering) = (true, true);
        self.credit = 0;
        self.alpha = self.alpha_after(Time::ZERO);
        if self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min).mul_div(95, 100);
        }
        let base = if signal == Signal::Ecn { window.cwnd } else { flight };
        base * self.beta / ONE
    }

    /// Moves its times.
    pub fn shift(&mut self, by: Time) {
        self.last_congestion += by;
        self.throughput.since += by;
    }

    /// beta = RTTmin / RTTmax between its bounds, or 1/2 when the throughput has changed by more than a
    /// fifth.
    fn update_beta(&mut self) {
        self.beta = BETA_MIN;
        let measured = self.rtt_max > Time::ZERO && self.rtt_min > ADAPTS_ABOVE;
        if self.throughput.changed() {
            self.adapts = false;
        } else if self.adapts && measured {
            let ratio = self.rtt_min.as_us() * ONE / self.rtt_max.as_us().max(1);
            self.beta = ratio.clamp(BETA_MIN, BETA_MAX);
        } else {
            self.adapts = true;
        }
    }
}

impl Throughput {
    /// Takes a sample over a window of bytes; `alone` without averaging.
    fn take(&mut self, now: Time, elapsed: Time, alone: bool) {
        let sample = u128::from(self.delivered) * 1_000_000_000_000 / u128::from(elapsed.as_ps().max(1));
        let sample = sample as u64;
        if alone {
            (self.average, self.max) = (sample, sample);
        } else {
            self.average = (3 * self.average + sample) / 4;
            self.max = self.max.max(self.average);
        }
        self.delivered = 0;
        self.since = now;
    }

    /// At a congestion: whether |B(k + 1) - B(k)| > 0.2 B(k).
    fn changed(&mut self) -> bool {
        let before = std::mem::replace(&mut self.max_before, self.max);
        5 * self.max.abs_diff(before) > before
    }
}

/// f(Delta) = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L) / 2)^2 after Delta_L, in seconds; one before.
fn increase(delta: Time) -> u64 {
    const SECOND: u128 = 1_000_000;
    let d = u128::from(delta.saturating_sub(DELTA_L).as_us());
    let one = u128::from(ONE);
    (one + 10 * one * d / SECOND + one * d * d / (4 * SECOND * SECOND)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(now: Time, delivered: u64, rtt: Time) -> Ack {
        Ack { now, delivered, una: 0, nxt: 0, rtt, srtt: rtt, in_flight: 0 }
    }

    fn thousandths(fixed: u64) -> u64 {
        fixed * 1000 / ONE
    }

    /// After a run of round trips between `rtt_min` and `rtt_max` with `segments` a round trip.
    fn driven(htcp: &mut Htcp, from: Time, rtt_min: Time, rtt_max: Time, segments: u64) {
        let window = Window { cwnd: segments * MSS, ssthresh: 0, mss: MSS };
        let mut now = from;
        for round in 0..20 {
            now += rtt_max;
            // The round trip rises by less than the step that is believed.
            let rtt = rtt_min + (rtt_max - rtt_min).mul_div(round, 19);
            for _ in 0..segments {
                htcp.observe(&window, &ack(now, MSS, rtt), true);
            }
        }
    }

    #[test]
    fn f_is_one_for_a_second_and_then_a_quadratic() {
        let ms = Time::from_ms;
        for (delta, expected) in [
            (ms(0), 1_000),
            (ms(1_000), 1_000),
            // 1 + 10 * 0.5 + 0.0625
            (ms(1_500), 6_062),
            // 1 + 10 + 0.25
            (ms(2_000), 11_250),
            // 1 + 100 + 25
            (ms(11_000), 126_000),
        ] {
            assert_eq!(thousandths(increase(delta)), expected, "{delta}");
        }
    }

    #[test]
    fn alpha_is_twice_one_minus_beta_times_f() {
        let mut htcp = Htcp::new(false);
        let two = Time::from_secs(2);
        assert_eq!(thousandths(htcp.alpha_after(Time::ZERO)), 1_000);
        assert_eq!(thousandths(htcp.alpha_after(two)), 11_250);
        htcp.beta = ONE * 3 / 4;
        assert_eq!(thousandths(htcp.alpha_after(two)), 5_625);
    }

    #[test]
    fn rtt_scaling_is_proportional_between_a_tenth_and_twice() {
        let mut htcp = Htcp::new(true);
        let two = Time::from_secs(2);
        for (rtt_ms, expected) in [(100, 11_250), (50, 5_625), (200, 22_500), (500, 22_500)] {
            htcp.rtt_min = Time::from_ms(rtt_ms);
            assert_eq!(thousandths(htcp.alpha_after(two)), expected, "{rtt_ms} ms");
        }
        // A tenth of 11.25, and never slower than Reno.
        htcp.rtt_min = Time::from_us(50);
        assert!((1_120..=1_125).contains(&thousandths(htcp.alpha_after(two))));
        assert_eq!(thousandths(htcp.alpha_after(Time::from_ms(1_100))), 1_000);
    }

    #[test]
    fn the_window_grows_by_alpha_segments_a_window() {
        let mut htcp = Htcp::new(false);
        let mut window = Window { cwnd: 100 * MSS, ssthresh: 0, mss: MSS };
        for _ in 0..100 {
            htcp.avoid(&mut window, MSS, Time::from_ms(500));
        }
        assert_eq!(window.cwnd, 101 * MSS, "Reno for the first second");
        htcp.alpha = htcp.alpha_after(Time::from_secs(2));
        for _ in 0..100 {
            htcp.avoid(&mut window, MSS, Time::from_secs(2));
        }
        let grown = (window.cwnd - 101 * MSS) / MSS;
        assert!((10..=11).contains(&grown), "alpha is 11.25, and the window grows meanwhile: {grown}");
    }

    #[test]
    fn beta_is_the_ratio_of_round_trips_within_its_bounds_from_the_second_congestion_on() {
        let ms = Time::from_ms;
        for (rtt_min, rtt_max, expected) in [(40, 60, 666), (40, 45, 799), (40, 120, 500), (5, 8, 500)] {
            let mut htcp = Htcp::new(true);
            let window = Window { cwnd: 100 * MSS, ssthresh: 0, mss: MSS };
            let mut now = Time::from_secs(1);
            let mut betas = Vec::new();
            for _ in 0..3 {
                driven(&mut htcp, now, ms(rtt_min), ms(rtt_max), 100);
                now += Time::from_secs(10);
                let ssthresh = htcp.reduce(&window, Signal::Loss, 100 * MSS);
                assert_eq!(ssthresh, 100 * MSS * htcp.beta / ONE);
                betas.push(thousandths(htcp.beta));
            }
            // The first throughput has none to be compared with, and after a change beta waits one
            // congestion.
            assert_eq!(betas, [500, 500, expected], "{rtt_min} to {rtt_max} ms");
        }
    }

    #[test]
    fn a_throughput_that_changed_by_more_than_a_fifth_halves() {
        for (segments, changed) in [(100, false), (119, false), (122, true), (81, false), (78, true)] {
            let mut htcp = Htcp::new(true);
            let window = Window { cwnd: 100 * MSS, ssthresh: 0, mss: MSS };
            let (low, high) = (Time::from_ms(40), Time::from_ms(60));
            let mut now = Time::from_secs(1);
            for segments in [100, 100, segments] {
                driven(&mut htcp, now, low, high, segments);
                now += Time::from_secs(10);
                htcp.reduce(&window, Signal::Loss, 100 * MSS);
            }
            assert_eq!(htcp.beta == BETA_MIN, changed, "{segments} segments a round trip after 100");
        }
    }

    #[test]
    fn delta_counts_from_the_beginning_of_the_congestion_and_then_from_its_end() {
        let mut htcp = Htcp::new(false);
        let window = Window { cwnd: 100 * MSS, ssthresh: 0, mss: MSS };
        htcp.reduce(&window, Signal::Loss, 100 * MSS);
        htcp.observe(&window, &ack(Time::from_secs(3), MSS, Time::from_ms(1)), false);
        assert_eq!(htcp.since_congestion(Time::from_secs(3)), Time::ZERO);
        htcp.observe(&window, &ack(Time::from_ms(3500), MSS, Time::from_ms(1)), false);
        assert_eq!(htcp.since_congestion(Time::from_secs(4)), Time::from_secs(1));
        htcp.observe(&window, &ack(Time::from_secs(4), MSS, Time::from_ms(1)), true);
        assert_eq!(htcp.since_congestion(Time::from_secs(6)), Time::from_secs(2));
    }
}
