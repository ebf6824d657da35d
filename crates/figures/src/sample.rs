//! Times of which some may be endless, and what is said of them.

/// How long things took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    times: Vec<u64>,
    /// How many took longer than any.
    endless: usize,
}

impl Sample {
    /// Adds one that took so long; `None` for ever.
    pub(crate) fn push(&mut self, time: Option<u64>) {
        match time {
            Some(time) => self.times.push(time),
            None => self.endless += 1,
        }
    }

    /// Adds all of another. There may be millions: those of the first are not copied.
    pub(crate) fn extend(&mut self, other: Sample) {
        self.endless += other.endless;
        if self.times.is_empty() { self.times = other.times } else { self.times.extend(other.times) }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty() && self.endless == 0
    }

    /// The mean; missing where there is none, or one is endless.
    pub(crate) fn mean(&self) -> Option<u64> {
        let sum: u128 = self.times.iter().map(|&time| u128::from(time)).sum();
        (self.endless == 0 && !self.times.is_empty()).then(|| whole(sum as f64 / self.times.len() as f64))
    }

    /// The longest; missing where there is none, or one is endless.
    pub(crate) fn max(&self) -> Option<u64> {
        self.times.iter().max().copied().filter(|_| self.endless == 0)
    }

    /// What `part` of them does not exceed, between two by a straight line; missing where that is endless.
    pub(crate) fn quantile(&mut self, part: f64) -> Option<u64> {
        let last = (self.times.len() + self.endless).checked_sub(1)?;
        let at = last as f64 * part;
        let (low, high) = (at.floor() as usize, at.ceil() as usize);
        if high >= self.times.len() {
            return None;
        }
        let (_, &mut lower, above) = self.times.select_nth_unstable(low);
        let upper = if high > low { above.iter().min().copied().unwrap_or(lower) } else { lower };
        Some(whole(lower as f64 + (upper - lower) as f64 * (at - low as f64)))
    }
}

/// The nearest whole number, of two equally near the even one.
fn whole(value: f64) -> u64 {
    value.round_ties_even() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::testing::cases;

    fn sample(times: &[Option<u64>]) -> Sample {
        let mut sample = Sample::default();
        times.iter().for_each(|&time| sample.push(time));
        sample
    }

    #[test]
    fn nothing_is_said_of_none() {
        let mut none = Sample::default();
        assert_eq!((none.mean(), none.max(), none.quantile(0.5)), (None, None, None));
    }

    #[test]
    fn between_two_times_lies_a_straight_line() {
        let mut times = sample(&[Some(30), Some(10), Some(20), Some(40)]);
        assert_eq!((times.mean(), times.max()), (Some(25), Some(40)));
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| times.quantile(part)), [10, 25, 40, 40].map(Some));
    }

    #[test]
    fn halves_go_to_even_numbers() {
        assert_eq!(sample(&[Some(0), Some(1)]).mean(), Some(0));
        assert_eq!(sample(&[Some(1), Some(2)]).mean(), Some(2));
    }

    #[test]
    fn endless_times_are_longer_than_any() {
        let mut times = sample(&[Some(10), None, Some(20), Some(30)]);
        assert_eq!((times.mean(), times.max()), (None, None));
        assert_eq!([0.5, 2.0 / 3.0, 0.9].map(|part| times.quantile(part)), [Some(25), Some(30), None]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]

        #[test]
        fn quantiles_are_those_of_the_sorted_times(
            times in proptest::collection::vec(proptest::option::weighted(0.9, 0..1u64 << 50), 1..60),
            part in 0.0f64..=1.0,
        ) {
            let mut sorted: Vec<f64> = times.iter().map(|time| time.map_or(f64::INFINITY, |time| time as f64)).collect();
            sorted.sort_by(f64::total_cmp);
            let at = (sorted.len() - 1) as f64 * part;
            let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            let expected = if low == high { low } else { low + (high - low) * at.fract() };
            let expected = expected.is_finite().then(|| expected.round_ties_even() as u64);
            prop_assert_eq!(sample(&times).quantile(part), expected);
        }
    }
}
