//! Demands as properties of their parameters.

use crate::support::rng;
use process::HostId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use traffic::demand::{self, Demand, Demands, PackedDemands};
use traffic::{Cdf, Coflow, Order, sizes};
use units::{Rate, Time};

fn all(n: u32) -> Vec<HostId> {
    (0..n).map(HostId).collect()
}

/// What each host sends.
fn lists(demands: &Demands) -> BTreeMap<HostId, Vec<Demand>> {
    demands.iter().map(|(from, packed)| (*from, packed.iter().collect())).collect()
}

fn bytes(demands: &Demands) -> u64 {
    demands.values().flat_map(PackedDemands::iter).map(|flow| flow.bytes).sum()
}

fn count(demands: &Demands) -> usize {
    demands.values().flat_map(PackedDemands::iter).count()
}

proptest! {
    #[test]
    fn a_permutation_is_a_derangement(n in 2u32..200, seed: u64) {
        let demands = lists(&demand::permutation(&all(n), 1, &mut rng(seed)));
        let mut receivers: Vec<HostId> = demands.values().map(|flows| flows[0].to).collect();
        prop_assert!(demands.iter().all(|(from, flows)| flows.len() == 1 && flows[0].to != *from));
        receivers.sort();
        prop_assert_eq!(receivers, all(n));
    }

    #[test]
    fn all_to_all_never_meets_at_one_receiver(n in 2u32..40) {
        let demands = lists(&demand::all_to_all(&all(n), 1, Order::Rotated, Time::ZERO, &mut rng(1)));
        for step in 0..n as usize - 1 {
            let mut receivers: Vec<HostId> = demands.values().map(|flows| flows[step].to).collect();
            receivers.sort();
            prop_assert_eq!(receivers, all(n));
        }
        prop_assert!(demands.iter().all(|(from, flows)| flows.iter().all(|flow| flow.to != *from)));
    }

    #[test]
    fn all_to_all_in_the_same_order_meets_everywhere(n in 2u32..40) {
        let demands = demand::all_to_all(&all(n), 1, Order::Same, Time::from_ms(n.into()), &mut rng(1));
        for (from, flows) in lists(&demands) {
            let others: Vec<HostId> = all(n).into_iter().filter(|host| *host != from).collect();
            prop_assert_eq!(flows.iter().map(|flow| flow.to).collect::<Vec<_>>(), others);
            prop_assert!(flows.iter().all(|flow| flow.at == flows[0].at && flow.at < Time::from_ms(n.into())));
        }
    }

    #[test]
    fn coflows_keep_every_byte(
        mappers in proptest::collection::vec(0u32..20, 1..10),
        reducers in proptest::collection::vec((0u32..20, 0u64..10_000), 1..10),
    ) {
        let reducers: Vec<_> = reducers.into_iter().map(|(host, bytes)| (HostId(host), bytes)).collect();
        let mappers: Vec<_> = mappers.into_iter().map(HostId).collect();
        let mut wanted: BTreeMap<HostId, u64> = BTreeMap::new();
        for (host, bytes) in reducers.iter().filter(|(_, bytes)| *bytes > 0) {
            *wanted.entry(*host).or_default() += bytes;
        }
        let mut got: BTreeMap<HostId, u64> = BTreeMap::new();
        let demands = demand::coflows(&[Coflow { id: 1, at: Time::ZERO, mappers, reducers }]);
        for flow in demands.values().flat_map(PackedDemands::iter) {
            *got.entry(flow.to).or_default() += flow.bytes;
        }
        prop_assert_eq!(got, wanted);
    }

    #[test]
    fn all_demands_are_sorted_by_time(seed: u64, load in 0.05f64..2.0) {
        let cdf = Cdf::new(sizes::WEB_SEARCH).expect("published");
        let duration = Time::from_ms(200);
        let demands = demand::load(&all(4), Rate::from_gbps(40), &cdf, load, duration, &mut rng(seed));
        for flows in lists(&demands).values() {
            prop_assert!(flows.windows(2).all(|pair| pair[0].at <= pair[1].at));
            prop_assert!(flows.iter().all(|flow| flow.at < duration && flow.bytes > 0));
        }
    }
}

#[test]
fn derangements_are_uniform() {
    // Four elements have 9 derangements; only 6 of them are one cycle.
    let mut seen: BTreeMap<Vec<HostId>, u32> = BTreeMap::new();
    let mut rng = rng(3);
    for _ in 0..9_000 {
        let demands = lists(&demand::permutation(&all(4), 1, &mut rng));
        *seen.entry(demands.values().map(|flows| flows[0].to).collect()).or_default() += 1;
    }
    assert_eq!(seen.len(), 9);
    // 1000 expected of each, with a standard deviation of 30.
    assert!(seen.values().all(|times| (850..1_150).contains(times)), "{seen:?}");
}

#[test]
fn load_converges_to_what_is_asked() {
    let cdf = Cdf::new(sizes::WEB_SEARCH).expect("published");
    let (rate, duration) = (Rate::from_gbps(160), Time::from_secs(20));
    let demands = demand::load(&all(16), rate, &cdf, 0.6, duration, &mut rng(11));
    let offered = bytes(&demands) as f64 * 8.0 / (rate.as_bps() as f64 * duration.as_secs_f64());
    assert!((offered - 0.6).abs() < 0.6 * 0.02, "offered {offered}");
    // Every pair is equally likely: each host sends a sixteenth of about 140,000 flows.
    let share = count(&demands) as f64 / 16.0;
    let demands = lists(&demands);
    assert!(demands.values().all(|flows| (flows.len() as f64 / share - 1.0).abs() < 0.05));
    assert!(demands.iter().all(|(from, flows)| flows.iter().all(|flow| flow.to != *from)));
}

#[test]
fn arrivals_are_poisson() {
    let cdf = Cdf::new(&[(10_000, 1.0)]).expect("one size");
    let demands = demand::load(&all(4), Rate::from_gbps(40), &cdf, 0.5, Time::from_ms(400), &mut rng(2));
    let mut times: Vec<f64> =
        demands.values().flat_map(PackedDemands::iter).map(|flow| flow.at.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    // 10 kB at 20 Gb/s: 4 us. An exponential's standard deviation is its mean.
    assert!((mean / 4e-6 - 1.0).abs() < 0.02, "mean {mean}");
    assert!((deviation / mean - 1.0).abs() < 0.02, "deviation {deviation}");
}

/// FNV-1a over demands: the same in every build and on every machine.
fn fingerprint(demands: &Demands) -> u64 {
    let flows = demands.iter().flat_map(|(from, packed)| packed.iter().map(move |flow| (from, flow)));
    let numbers =
        flows.flat_map(|(from, flow)| [u64::from(from.0), flow.at.as_ps(), u64::from(flow.to.0), flow.bytes]);
    numbers.fold(0xcbf2_9ce4_8422_2325, |hash, n| (hash ^ n).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_same_seed_gives_the_same_demands_in_every_build() {
    let cdf = Cdf::new(sizes::DATA_MINING).expect("published");
    let demands = demand::load(&all(8), Rate::from_gbps(80), &cdf, 0.8, Time::from_secs(10), &mut rng(42));
    assert_eq!((count(&demands), fingerprint(&demands)), (6_122, 12_146_716_018_242_935_833));
}

#[test]
fn seven_hundred_thousand_flows_take_8_bytes_each() {
    let hosts = all(840);
    let reducers = hosts.iter().map(|host| (*host, 1_000_000)).collect();
    let demands = demand::coflows(&[Coflow { id: 1, at: Time::ZERO, mappers: hosts, reducers }]);
    assert_eq!(count(&demands), 705_600);
    assert_eq!(bytes(&demands), 840_000_000);
    assert!(demands.values().map(PackedDemands::size).sum::<usize>() <= 705_600 * 8);
}
