//! What work takes on a modelled host. On a real one the work itself takes the time, and all of these are 0.

use crate::work::Effort;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// How long things take on one core, and what is read from the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A transaction is read.
    pub transaction: Time,
    /// An item of it is looked at.
    pub item: Time,
    /// A candidate is found in a transaction, or generated as one.
    pub generate: Time,
    /// A candidate that came is looked up and counted.
    pub probe: Time,
    /// Transactions come from the host's disk.
    pub disk: bool,
    /// So much at a time, where the work is modelled.
    pub io: Bytes,
    /// A node's times differ from these by up to this part in a pass, in millionths, drawn for each.
    pub variation_ppm: u32,
}

/// A million.
pub(crate) const PPM: u64 = 1_000_000;

impl Costs {
    /// Time for an effort at a pace in millionths of these costs.
    pub(crate) fn time(&self, effort: &Effort, pace_ppm: u64) -> Time {
        let parts = [
            (self.transaction, effort.transactions),
            (self.item, effort.items),
            (self.generate, effort.generated),
            (self.probe, effort.probed),
        ];
        let all: u128 = parts.iter().map(|(cost, n)| u128::from(cost.as_ps()) * u128::from(*n)).sum();
        Time::from_ps(u64::try_from(all * u128::from(pace_ppm) / u128::from(PPM)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_takes_the_sum_of_its_parts_at_its_pace() {
        let costs = Costs { item: Time::from_ns(10), probe: Time::from_us(1), ..Costs::default() };
        let effort = Effort { items: 100, probed: 2, transactions: 7, ..Effort::default() };
        assert_eq!(costs.time(&effort, PPM), Time::from_us(3));
        assert_eq!(costs.time(&effort, PPM / 2), Time::from_ns(1500));
        assert_eq!(Costs::default().time(&effort, PPM), Time::ZERO);
    }
}
