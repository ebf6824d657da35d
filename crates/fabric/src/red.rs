//! Random early detection: Floyd & Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM ToN 1(4), 1993; `gentle` as in Floyd's note of 2000. One state a queue:
//! with a state a class this is WRED.

use crate::config::RedConfig;
use crate::packet::Verdict;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use units::Time;

/// The state of RED at one queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    /// `avg`, in the unit of `min`.
    average: f64,
    /// Packets since the last mark or drop; −1 while the average is below `min`.
    count: i64,
    /// `q_time`: from then on nothing waits and the transmitter is free. Later packets that found it so have
    /// already been taken into account up to here.
    idle_from: Time,
    /// `s`: how long a typical packet takes to send.
    typical: Time,
    rng: Pcg32,
}

impl Red {
    pub(crate) fn new(config: RedConfig, typical: Time, seed: u64) -> Red {
        Red {
            config,
            average: 0.0,
            count: -1,
            idle_from: Time::ZERO,
            typical: typical.max(Time::from_ps(1)),
            rng: Pcg32::seed_from_u64(seed),
        }
    }

    /// Whether the average is so high that a packet may be marked or dropped.
    pub(crate) fn may_take(&self) -> bool {
        self.count >= 0
    }

    /// Nothing waits, and the transmitter is free from `from` on.
    pub(crate) fn idle(&mut self, from: Time) {
        self.idle_from = self.idle_from.max(from);
    }

    /// Moves its time.
    pub(crate) fn shift(&mut self, by: Time) {
        self.idle_from += by;
    }

    /// Decides on a packet that finds `bytes` in `packets` waiting.
    pub(crate) fn admit(&mut self, now: Time, bytes: u64, packets: u32, capable: bool) -> Verdict {
        self.update_average(now, self.config.min.of(bytes, packets));
        let (min, max) = (self.config.min.value(), self.config.max.value());
        let full = if self.config.gentle { 2.0 * max } else { max };
        if self.average < min {
            self.count = -1;
            return Verdict::Accept;
        }
        if self.average >= full {
            self.count = 0;
            return Verdict::Drop;
        }
        let max_p = self.config.max_p;
        let p = if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else {
            max_p + (1.0 - max_p) * (self.average - max) / max
        };
        if !self.hits(p) {
            return Verdict::Accept;
        }
        if self.config.ecn && capable { Verdict::Mark } else { Verdict::Drop }
    }

    /// `p_a = p_b / (1 − count · p_b)`: evens out the gaps between marks.
    fn hits(&mut self, p: f64) -> bool {
        self.count += 1;
        let left = 1.0 - self.count as f64 * p;
        let hit = left <= 0.0 || self.rng.random::<f64>() < p / left;
        if hit {
            self.count = 0;
        }
        hit
    }

    /// Whether a packet that finds the queue empty is dropped changes nothing about the idle time: it goes
    /// on.
    fn update_average(&mut self, now: Time, length: f64) {
        let weight = self.config.weight;
        if length > 0.0 || now < self.idle_from {
            self.average += weight * (length - self.average);
        } else if self.average > 0.0 {
            // While idle, as many typical packets as could have been sent have lowered the average; this one
            // does in any case.
            let missed = (now - self.idle_from).as_ps() / self.typical.as_ps();
            self.average *= libm::pow(1.0 - weight, missed.max(1) as f64);
            self.idle_from += Time::from_ps(missed * self.typical.as_ps());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Depth;

    fn red(gentle: bool, ecn: bool) -> Red {
        let config = RedConfig {
            min: Depth::Packets(5),
            max: Depth::Packets(15),
            max_p: 0.1,
            weight: 1.0,
            gentle,
            ecn,
        };
        Red::new(config, Time::from_us(1), 7)
    }

    fn dropped(red: &mut Red, packets: u32, of: u32) -> u32 {
        let now = Time::from_us(1);
        (0..of).filter(|_| red.admit(now, 0, packets, false) == Verdict::Drop).count() as u32
    }

    #[test]
    fn nothing_below_min_everything_above_max() {
        assert_eq!(dropped(&mut red(false, false), 4, 1000), 0);
        assert_eq!(dropped(&mut red(false, false), 15, 1000), 1000);
        assert_eq!(dropped(&mut red(true, false), 30, 1000), 1000);
    }

    #[test]
    fn marks_are_evenly_spaced() {
        // At p_b = 0.05 the gap between drops is uniform on 1…1/p_b − 1, as the algorithm of figure 2 counts:
        // mean 10.
        let drops = dropped(&mut red(false, false), 10, 100_000);
        assert!((9_850..=10_150).contains(&drops), "{drops}");
    }

    #[test]
    fn gentle_rises_from_max_p_to_one() {
        let some = dropped(&mut red(true, false), 20, 10_000);
        assert!(some > 1_000 && some < 10_000, "{some}");
    }

    #[test]
    fn capable_packets_are_marked_between_the_thresholds_only() {
        let mut red = red(false, true);
        let now = Time::from_us(1);
        let verdicts: Vec<_> = (0..100).map(|_| red.admit(now, 0, 14, true)).collect();
        assert!(verdicts.contains(&Verdict::Mark) && !verdicts.contains(&Verdict::Drop));
        assert_eq!(red.admit(now, 0, 16, true), Verdict::Drop);
    }

    #[test]
    fn the_average_decays_while_idle() {
        let mut red = red(false, false);
        red.config.weight = 0.002;
        red.average = 10.0;
        red.idle(Time::ZERO);
        red.admit(Time::from_us(1000), 0, 0, false);
        let expected = 10.0 * libm::pow(0.998, 1000.0);
        assert!((red.average - expected).abs() < 1e-9, "{}", red.average);
    }

    #[test]
    fn a_packet_dropped_at_an_empty_queue_does_not_end_the_idle_time() {
        let mut red = red(false, false);
        red.config.weight = 0.002;
        red.average = 100.0;
        red.idle(Time::ZERO);
        // Half a typical packet apart, so that no gap alone holds a whole one.
        let verdicts: Vec<_> =
            (1..=4000).map(|half_us| red.admit(Time::from_ns(500 * half_us), 0, 0, false)).collect();
        assert_eq!(verdicts[0], Verdict::Drop);
        assert_eq!(verdicts.last(), Some(&Verdict::Accept));
        // As many samples as packets came: at least as fast as an average of what they found.
        assert!(red.average <= 100.0 * libm::pow(0.998, 4000.0) + 1e-9, "{}", red.average);
    }

    #[test]
    fn weight_one_has_no_memory() {
        let mut red = red(false, false);
        assert_eq!(red.admit(Time::from_us(1), 0, 20, false), Verdict::Drop);
        red.idle(Time::from_us(2));
        assert_eq!(red.admit(Time::from_us(2), 0, 0, false), Verdict::Accept);
    }
}
