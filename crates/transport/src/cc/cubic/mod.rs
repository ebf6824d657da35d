//! CUBIC: the window follows a cubic of the time since it last shrank.
//!
//! Integers only: time in units of 2^-20 s, windows in bytes. Source: RFC 9438 4 (C = 0.4, beta = 0.7).

mod linux;

use super::input::{Ack, Signal, Window};
use linux::Growth;
use units::Time;

/// beta_cubic = 7/10.
const BETA: (u64, u64) = (7, 10);
/// alpha_cubic = 3 (1 - beta) / (1 + beta) = 9/17.
const ALPHA: (u64, u64) = (9, 17);
/// Fraction bits of `w_est`.
const W_EST_FRACTION: u32 = 10;
/// 128 s: further than this from K the curve is cut off, so that its cube fits in 64 bits.
const FARTHEST: i64 = 1 << 27;

/// CUBIC's variables, named as in RFC 9438 4.1.2.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cubic {
    w_max: u64,
    /// Window just before the last reduction.
    cwnd_prior: u64,
    /// When this stage of congestion avoidance began; none before the first acknowledgement in it.
    epoch: Option<Time>,
    /// In 2^-20 s.
    k: i64,
    /// Window of a Reno flow, with [`W_EST_FRACTION`] bits of fraction.
    w_est: u64,
    /// Growth not yet given: bytes times bytes.
    credit: u64,
    /// Growth as Linux computes it.
    linux: Option<Box<Growth>>,
}

impl Cubic {
    /// With growth as Linux computes it, or as the RFC does.
    pub fn new(linux: bool) -> Cubic {
        Cubic { linux: linux.then(Growth::new), ..Cubic::default() }
    }

    /// Congestion avoidance (4.2 to 4.5).
    pub fn avoid(&mut self, window: &mut Window, delivered: u64, ack: &Ack) {
        if let Some(mut growth) = self.linux.take() {
            self.avoid_as_linux(&mut growth, window, delivered, ack);
            self.linux = Some(growth);
            return;
        }
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.start_epoch(window, ack.now),
        };
        let cwnd = window.cwnd;
        self.grow_w_est(window, delivered);
        let t = binary_seconds(ack.now - epoch);
        if self.w_est >> W_EST_FRACTION > self.w_cubic(t, window.mss) {
            // Reno-friendly region (4.3).
            window.cwnd = cwnd.max(self.w_est >> W_EST_FRACTION);
            return;
        }
        let target = self.w_cubic(t + binary_seconds(ack.srtt), window.mss).clamp(cwnd, cwnd + cwnd / 2);
        self.credit += (target - cwnd) * delivered;
        let grown = self.credit / cwnd;
        self.credit -= grown * cwnd;
        window.cwnd += grown;
    }

    #[cold]
    fn start_epoch(&mut self, window: &Window, now: Time) -> Time {
        if self.w_max <= window.cwnd {
            // After a first slow start without loss, or growth beyond the old maximum: K = 0 (4.8).
            self.w_max = window.cwnd;
            self.k = 0;
        } else {
            // K = cbrt((W_max - cwnd_epoch) / C), windows in segments (4.2).
            let cube = ((u128::from(self.w_max - window.cwnd) * 5) << 60) / u128::from(2 * window.mss);
            self.k = cube_root(cube) as i64;
        }
        self.w_est = window.cwnd << W_EST_FRACTION;
        self.credit = 0;
        self.epoch = Some(now);
        now
    }

    /// W_est += alpha * segments_acked / cwnd; alpha is 1 once the window before the reduction is reached.
    #[inline]
    fn grow_w_est(&mut self, window: &Window, delivered: u64) {
        let (num, den) = if self.w_est >> W_EST_FRACTION >= self.cwnd_prior { (1, 1) } else { ALPHA };
        self.w_est += ((delivered * window.mss * num) << W_EST_FRACTION) / (window.cwnd * den);
    }

    /// W_cubic(t) = C (t - K)^3 + W_max, in bytes.
    #[inline]
    fn w_cubic(&self, t: i64, mss: u64) -> u64 {
        let d = (t - self.k).clamp(-FARTHEST, FARTHEST);
        // Twice 20 bits are dropped: the cube has 20 bits of fraction left.
        let cube = (((d * d) >> 20) * d) >> 20;
        let bytes = (i128::from(cube) * i128::from(mss) * 2 / 5) >> 20;
        (self.w_max as i64).saturating_add(bytes as i64).max(0) as u64
    }

    /// Multiplicative decrease (4.6) and fast convergence (4.7). Returns ssthresh. After a timeout the next
    /// stage begins with K = 0 and W_max the window that it begins with (4.8).
    pub fn reduce(&mut self, window: &Window, signal: Signal, flight: u64) -> u64 {
        let cwnd = window.cwnd;
        self.w_max = match signal {
            Signal::Timeout => 0,
            _ if cwnd < self.w_max => cwnd * (BETA.0 + BETA.1) / (2 * BETA.1),
            _ => cwnd,
        };
        self.cwnd_prior = cwnd;
        if let Some(growth) = &mut self.linux {
            growth.reduce(signal == Signal::Timeout);
        }
        self.restart();
        let base = if signal == Signal::Ecn { cwnd } else { flight };
        base * BETA.0 / BETA.1
    }

    /// The next acknowledgement starts a new epoch: time spent idle or in recovery does not count.
    pub fn restart(&mut self) {
        self.epoch = None;
    }

    /// Moves its time.
    pub fn shift(&mut self, by: Time) {
        self.epoch = self.epoch.map(|epoch| epoch + by);
        if let Some(growth) = &mut self.linux {
            growth.shift(by);
        }
    }
}

/// Time in units of 2^-20 s.
#[inline]
fn binary_seconds(time: Time) -> i64 {
    // 2^20 / 10^12, in 64 bits of fraction.
    const FACTOR: u128 = (1u128 << 84) / 1_000_000_000_000;
    ((u128::from(time.as_ps()) * FACTOR) >> 64) as i64
}

/// Integer cube root, rounded down, of up to 2^96.
fn cube_root(n: u128) -> u64 {
    let mut root = 0u64;
    for bit in (0..32).rev() {
        let next = root | 1 << bit;
        if u128::from(next).pow(3) <= n {
            root = next;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn reduced(segments: u64) -> (Cubic, Window) {
        let mut cubic = Cubic::default();
        let mut window = Window { cwnd: segments * MSS, ssthresh: u64::MAX, mss: MSS };
        window.ssthresh = cubic.reduce(&window, Signal::Loss, window.cwnd);
        window.cwnd = window.ssthresh;
        cubic.start_epoch(&window, Time::ZERO);
        (cubic, window)
    }

    #[test]
    fn k_is_the_time_back_to_w_max() {
        let (cubic, window) = reduced(100);
        assert_eq!(window.cwnd, 70 * MSS);
        // cbrt(30 / 0.4) = 4.217163... s
        let k_us = cubic.k * 1_000_000 / (1 << 20);
        assert!((4_217_162..=4_217_164).contains(&k_us), "{k_us}");
        let at = |us: u64| cubic.w_cubic(binary_seconds(Time::from_us(us)), MSS) as i64;
        assert!((at(0) - 70_000).abs() <= 1, "W_cubic(0) = cwnd_epoch, got {}", at(0));
        assert!((at(4_217_163) - 100_000).abs() <= 1, "W_cubic(K) = W_max, got {}", at(4_217_163));
        // 0.4 * (8 - 4.217163)^3 + 100 = 121.6531 segments.
        assert!((at(8_000_000) - 121_653).abs() <= 1, "{}", at(8_000_000));
    }

    #[test]
    fn fast_convergence_remembers_less_when_the_maximum_falls() {
        let mut cubic = Cubic { w_max: 100 * MSS, ..Cubic::default() };
        let window = Window { cwnd: 80 * MSS, ssthresh: 0, mss: MSS };
        cubic.reduce(&window, Signal::Loss, window.cwnd);
        // cwnd * (1 + beta) / 2
        assert_eq!(cubic.w_max, 68 * MSS);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_at_the_window_that_it_has() {
        let mut cubic = Cubic::default();
        let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX, mss: MSS };
        window.ssthresh = cubic.reduce(&window, Signal::Timeout, window.cwnd);
        // Slow start from one segment to ssthresh.
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 70 * MSS);
        cubic.start_epoch(&window, Time::ZERO);
        assert_eq!((cubic.k, cubic.w_max), (0, 70 * MSS));
        // 70 + 0.4 * 2^3 segments.
        assert_eq!(cubic.w_cubic(binary_seconds(Time::from_secs(2)), MSS), 73_200 - 1);
    }

    #[test]
    fn short_round_trips_grow_as_reno_with_alpha_9_17() {
        let (mut cubic, mut window) = reduced(100);
        // A window a round of 1 ms: the cubic is slower than Reno here.
        for round in 1..=10u64 {
            let now = Time::from_ms(round);
            for _ in 0..window.cwnd / MSS {
                let ack = Ack {
                    now,
                    delivered: MSS,
                    una: 0,
                    nxt: 0,
                    rtt: Time::ZERO,
                    srtt: Time::from_ms(1),
                    in_flight: 0,
                };
                cubic.avoid(&mut window, MSS, &ack);
            }
        }
        let grown = window.cwnd - 70 * MSS;
        assert!((5_100..=5_400).contains(&grown), "ten rounds of 9/17 segment: {grown}");
    }

    #[test]
    fn cube_roots_are_exact() {
        for n in [0u64, 1, 2, 7, 1_000, 4_294_967_295] {
            let cube = u128::from(n).pow(3);
            assert_eq!(cube_root(cube), n);
            assert_eq!(cube_root(cube + 1), n.max(u64::from(n == 0)));
        }
    }
}
