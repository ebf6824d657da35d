//! Random early detection on the queue of walkers (document 000, *RQ*): Floyd & Jacobson, "Random Early
//! Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993; `gentle` as in Floyd's note of
//! 2000.
//!
//! The document's reading is the default: the length at the moment, each drop drawn by itself, everything
//! dropped from `max_th` on. The paper's own — an average that decays while the queue is idle, drops spaced
//! by a count — is a matter of settings. It is not RED at switches (`crates/fabric`): that one counts bytes
//! and marks ECN.

use serde::{Deserialize, Serialize};
use units::Time;

/// RED's parameters; lengths are walkers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedSettings {
    /// `min_th`: below it nothing is dropped.
    pub min: f64,
    /// `max_th`: from it on everything is dropped; with `gentle`, from twice this length.
    pub max: f64,
    /// `max_p`: the probability that is reached at `max`.
    pub max_p: f64,
    /// `w_q`: the weight of a new length in the average; 1 is the length at the moment.
    pub weight: f64,
    /// Evens out the gaps between drops by `p_b / (1 − count · p_b)`.
    pub count: bool,
    /// The probability rises from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
}

impl Default for RedSettings {
    /// The document's: min 5, max 100, max_p 0.1.
    fn default() -> RedSettings {
        RedSettings { min: 5.0, max: 100.0, max_p: 0.1, weight: 1.0, count: false, gentle: false }
    }
}

/// What RED makes of a walker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    /// Dropped by chance.
    Early,
    /// Dropped because the (average) length has reached its upper end.
    Forced,
}

/// RED at one queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    settings: RedSettings,
    average: f64,
    /// Walkers since the last drop; −1 while the average is below `min`.
    since_drop: i64,
    /// The queue has been empty since; walkers that found it so have been taken into account up to here.
    idle_from: Time,
    /// How long a walker is served, on average.
    typical: Time,
}

impl Red {
    pub(crate) fn new(settings: RedSettings) -> Red {
        Red { settings, average: 0.0, since_drop: -1, idle_from: Time::ZERO, typical: Time::ZERO }
    }

    /// A walker has been served in `time`: the idle average decays by the mean of these.
    pub(crate) fn served(&mut self, time: Time) {
        let (old, new) = (self.typical.as_ps(), time.as_ps());
        self.typical = if old == 0 { time } else { Time::from_ps(old - old / 8 + new / 8) };
    }

    /// The queue has become empty at `now`.
    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_from = self.idle_from.max(now);
    }

    /// Decides on a walker that finds `length` others waiting; `draw` gives a random fraction, if one is
    /// needed.
    pub(crate) fn admit(&mut self, now: Time, length: usize, draw: impl FnOnce() -> f64) -> Verdict {
        self.update_average(now, length as f64);
        let RedSettings { min, max, max_p, gentle, .. } = self.settings;
        if self.average < min {
            self.since_drop = -1;
            return Verdict::Accept;
        }
        if self.average >= if gentle { 2.0 * max } else { max } {
            self.since_drop = 0;
            return Verdict::Forced;
        }
        let p = if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else {
            max_p + (1.0 - max_p) * (self.average - max) / max
        };
        if self.hits(p, draw) { Verdict::Early } else { Verdict::Accept }
    }

    fn hits(&mut self, p: f64, draw: impl FnOnce() -> f64) -> bool {
        if !self.settings.count {
            return draw() < p;
        }
        self.since_drop += 1;
        let left = 1.0 - self.since_drop as f64 * p;
        let hit = left <= 0.0 || draw() < p / left;
        if hit {
            self.since_drop = 0;
        }
        hit
    }

    /// Whether a walker that finds the queue empty is dropped changes nothing about the idle time: it goes
    /// on.
    fn update_average(&mut self, now: Time, length: f64) {
        let weight = self.settings.weight;
        if length > 0.0 || self.typical == Time::ZERO {
            self.average += weight * (length - self.average);
        } else if self.average > 0.0 {
            // While idle, as many walkers as could have been served have lowered the average; this one does
            // in any case.
            let missed = now.saturating_sub(self.idle_from).as_ps() / self.typical.as_ps();
            self.average *= libm::pow(1.0 - weight, missed.max(1) as f64);
            self.idle_from += Time::from_ps(missed * self.typical.as_ps());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    fn drops(settings: RedSettings, length: usize, of: u32) -> u32 {
        let (mut red, mut rng) = (Red::new(settings), Pcg64::seed_from_u64(3));
        (0..of).filter(|_| red.admit(Time::from_us(1), length, || rng.random()) != Verdict::Accept).count()
            as u32
    }

    #[test]
    fn the_documents_curve() {
        let document = RedSettings::default();
        assert_eq!(drops(document, 4, 1000), 0);
        assert_eq!(drops(document, 5, 1000), 0, "p is 0 at min_th");
        assert_eq!(drops(document, 100, 1000), 1000);
        // Just below max_th: max_p · 94 / 95; 100,000 draws, five standard deviations are 473.
        let near = drops(document, 99, 100_000);
        assert!((9_422..=10_368).contains(&near), "{near}");
        // Half way, 52.5 lies between 52 and 53: 0.1 · 47 / 95.
        let half = drops(document, 52, 100_000);
        assert!((4_606..=5_289).contains(&half), "{half}");
    }

    #[test]
    fn with_a_count_the_gaps_between_drops_are_even() {
        // p_b = 0.05: gaps are uniform on 1 … 1/p_b − 1 as figure 2 of the paper counts, 10 on average.
        let settings = RedSettings { min: 5.0, max: 15.0, count: true, ..RedSettings::default() };
        let counted = drops(settings, 10, 100_000);
        assert!((9_850..=10_150).contains(&counted), "{counted}");
    }

    #[test]
    fn gentle_rises_from_max_p_to_one() {
        let gentle = RedSettings { gentle: true, ..RedSettings::default() };
        // At 150 of 100: 0.1 + 0.9 / 2 = 0.55.
        let some = drops(gentle, 150, 100_000);
        assert!((54_200..=55_800).contains(&some), "{some}");
        assert_eq!(drops(gentle, 200, 1000), 1000);
    }

    #[test]
    fn an_average_decays_by_the_mean_service_time_while_idle() {
        let mut red = Red::new(RedSettings { weight: 0.002, ..RedSettings::default() });
        red.average = 10.0;
        red.served(Time::from_us(1));
        red.idle(Time::ZERO);
        red.admit(Time::from_us(1000), 0, || Pcg64::seed_from_u64(0).random());
        assert!((red.average - 10.0 * libm::pow(0.998, 1000.0)).abs() < 1e-9, "{}", red.average);
    }
    #[test]
    fn a_walker_dropped_at_an_empty_queue_does_not_end_the_idle_time() {
        let mut red = Red::new(RedSettings { weight: 0.002, ..RedSettings::default() });
        red.average = 1000.0;
        red.served(Time::from_us(1));
        red.idle(Time::ZERO);
        // Half a service apart, so that no gap alone holds a whole one.
        let mut admit = |half_us: u64| red.admit(Time::from_ns(500 * half_us), 0, || 0.5);
        assert_eq!(admit(1), Verdict::Forced);
        let last = (2..=8000).map(admit).last();
        assert_eq!(last, Some(Verdict::Accept));
    }
}
