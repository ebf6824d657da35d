//! The greatest of the samples of a sliding window, for BBR's bandwidth.
//!
//! Not the three-sample estimate that kernels use: the exact maximum, in amortised constant time.
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 4.1.1.3 (a max filter over round trips).

use std::collections::VecDeque;

/// The maximum over the latest `window` rounds. It holds at most one sample a round.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMax {
    window: u64,
    /// Rounds and their values: rounds rise, values fall.
    kept: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    pub fn new(window: u64) -> WindowedMax {
        WindowedMax { window, kept: VecDeque::new() }
    }

    /// Takes a sample of `round`, which is never less than that of the sample before.
    pub fn push(&mut self, round: u64, value: u64) {
        while self.kept.front().is_some_and(|&(old, _)| old + self.window <= round) {
            self.kept.pop_front();
        }
        while self.kept.back().is_some_and(|&(_, smaller)| smaller <= value) {
            self.kept.pop_back();
        }
        if self.kept.back().is_none_or(|&(same, _)| same != round) {
            self.kept.push_back((round, value));
        }
    }

    /// The maximum; zero before the first sample.
    #[inline]
    pub fn max(&self) -> u64 {
        self.kept.front().map_or(0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_maximum_of_the_latest_rounds(
            window in 1u64..12,
            steps in prop::collection::vec((0u64..3, 0u64..50), 1..200),
        ) {
            let mut filter = WindowedMax::new(window);
            let (mut round, mut all) = (0, Vec::new());
            for (step, value) in steps {
                round += step;
                all.push((round, value));
                filter.push(round, value);
                let expected = all.iter().filter(|(r, _)| r + window > round).map(|(_, v)| *v).max();
                prop_assert_eq!(Some(filter.max()), expected);
                prop_assert!(filter.kept.len() as u64 <= window);
            }
        }
    }
}
