//! Bandwidth probes: which hosts send to which in each round, and what arrived.
//!
//! In the first rounds every host sends to one other and receives from one, all at the same time: the hosts
//! form a ring, its reverse, and shuffled rings. Each round so fills the access links of all hosts in both
//! directions, and shared links show as rates below those of both ends. In the other rounds one half of the
//! hosts sends and the other receives. Otherwise, if directions differ, acknowledgements that wait behind
//! data slow the opposite direction. After Naganuma et al., *Improving Efficiency of Network Bandwidth
//! Estimation Using Topology Information* (SACSIS 2008), without knowing the topology first:
//! [`mod@crate::infer`] derives one from the measurements.

mod prober;

pub use prober::{Board, PORT, Prober, Setup};

use process::{HostId, rng};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// Rings; fewer for few hosts.
const RINGS: usize = 6;
/// Divisions of the hosts in senders and receivers, each used both ways; fewer for few hosts.
const HALVES: usize = 5;

/// What one host received from another in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The round.
    pub round: u32,
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Bytes that came while it was measured.
    pub bytes: u64,
    /// For so many microseconds.
    pub micros: u64,
}

impl Sample {
    /// The rate in bit/s.
    #[must_use]
    pub fn rate(&self) -> u64 {
        (u128::from(self.bytes) * 8_000_000 / u128::from(self.micros.max(1))) as u64
    }
}

/// Flows of each round: pairs of sender and receiver.
#[must_use]
pub fn rounds(hosts: &[HostId], seed: u64) -> Vec<Vec<(HostId, HostId)>> {
    let mut order = hosts.to_vec();
    let mut rng = rng::stream(seed, "probe rounds");
    let others = hosts.len().saturating_sub(1);
    let mut found = Vec::new();
    for number in 0..RINGS.min(others) {
        match number {
            0 => {}
            1 => order.reverse(),
            _ => order.shuffle(&mut rng),
        }
        found.push(ring(&order));
    }
    for _ in 0..HALVES.min(others) {
        order.shuffle(&mut rng);
        let (senders, receivers) = order.split_at(order.len() / 2);
        let pairs = senders.iter().copied().zip(receivers.iter().copied());
        found.push(pairs.clone().collect());
        found.push(pairs.map(|(a, b)| (b, a)).collect());
    }
    found
}

fn ring(order: &[HostId]) -> Vec<(HostId, HostId)> {
    let next = order.iter().skip(1).chain(order.first());
    order.iter().copied().zip(next.copied()).filter(|(from, to)| from != to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_sends_and_receives_once_a_round() {
        for n in 0..20 {
            let hosts: Vec<HostId> = (0..n).map(HostId).collect();
            let rounds = rounds(&hosts, 7);
            let rings = RINGS.min(hosts.len().saturating_sub(1));
            for round in &rounds[..rings] {
                let (mut from, mut to): (Vec<_>, Vec<_>) = round.iter().copied().unzip();
                from.sort_unstable();
                to.sort_unstable();
                assert_eq!((&from, &to), (&hosts, &hosts));
                assert!(round.iter().all(|(from, to)| from != to));
            }
            for round in &rounds[rings..] {
                let ends: std::collections::BTreeSet<_> =
                    round.iter().flat_map(|(from, to)| [from, to]).collect();
                assert_eq!((ends.len(), round.len()), (2 * round.len(), hosts.len() / 2));
            }
        }
    }

    #[test]
    fn the_second_round_is_the_first_turned_round() {
        let hosts: Vec<HostId> = (0..5).map(HostId).collect();
        let rounds = rounds(&hosts, 1);
        let turned: std::collections::BTreeSet<_> = rounds[1].iter().map(|(from, to)| (*to, *from)).collect();
        assert_eq!(turned, rounds[0].iter().copied().collect());
    }

    #[test]
    fn a_rate_is_bits_over_time() {
        let sample = Sample { round: 0, from: 0, to: 1, bytes: 125_000, micros: 500_000 };
        assert_eq!(sample.rate(), 2_000_000);
    }
}
