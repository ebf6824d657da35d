//! Broadcasts as people type them, without a topology: rates are found out while the first chunks move.

use super::support::{MBPS, MIB, config, run_unknown, star};
use crate::transfer::{Config, unknown_size};
use sim::{Change, LinkChange};
use units::{Rate, Time};

/// What a link of 1500 byte packets carries of TCP's payload.
const PAYLOAD: f64 = 1448.0 / 1538.0;

/// What each receiver could have alone over what it has, in time: the source's rate is the first, in Mb/s both ways.
fn shares(rates: &[u64], bytes: u64, faults: Vec<(Time, Change)>) -> Vec<f64> {
    let network = star(&rates.iter().map(|rate| (*rate, *rate)).collect::<Vec<_>>());
    let unknown = star(&vec![(10_000, 10_000); rates.len()]);
    let chunk = unknown_size(bytes, rates.len() as u64 - 1);
    let config = Config { unknown: true, headroom: None, ..config(unknown, bytes, chunk) };
    let run = run_unknown(&network, &config, faults);
    let bound = |rate: u64| bytes as f64 * 8.0 / ((rate.min(rates[0]) * MBPS) as f64 * PAYLOAD);
    (1..rates.len()).map(|host| bound(rates[host]) / run.completed(host)).collect()
}

fn assert_shares(rates: &[u64], mebibytes: u64, least: f64) {
    let shares = shares(rates, mebibytes * MIB, Vec::new());
    println!("{rates:?} {mebibytes}: {shares:.2?}");
    assert!(shares.iter().all(|share| *share >= least), "{rates:?}, {mebibytes} MiB: {shares:.3?}");
}

#[test]
fn six_fast_ones_and_two_slow_ones() {
    assert_shares(&[30, 30, 30, 30, 30, 30, 30, 10, 3], 12, 0.9);
    assert_shares(&[30, 3, 10, 30, 30, 30, 30, 30, 30], 12, 0.9);
    assert_shares(&[30, 3, 10, 30, 30, 30, 30, 30, 30], 72, 0.94);
}

#[test]
fn one_slow_host_anywhere() {
    for slow in 1..=4 {
        let mut rates = [30; 5];
        rates[slow] = 3;
        assert_shares(&rates, 12, 0.9);
    }
}

#[test]
fn all_alike() {
    assert_shares(&[30; 9], 12, 0.9);
}

/// Rates that are nearly the same are told apart only later: that costs more than where they are groups.
#[test]
fn all_different() {
    assert_shares(&[40, 5, 10, 15, 20, 25, 30, 35, 40], 12, 0.65);
}

#[test]
fn a_source_that_is_slower_or_faster_than_all() {
    assert_shares(&[10, 30, 30, 30, 30], 12, 0.9);
    assert_shares(&[100, 30, 30, 30, 30], 12, 0.9);
}

/// What was measured in the first moment does not count for ever.
#[test]
fn a_link_that_gets_slow_later_costs_the_others_the_time_to_find_out() {
    let slow = LinkChange::Rate(Rate::from_bps(3 * MBPS));
    let faults = vec![(Time::from_secs(2), Change::Link(fabric::NodeId(2), fabric::NodeId(7), slow))];
    let shares = shares(&[30; 7], 24 * MIB, faults);
    let others: Vec<f64> =
        shares.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, share)| *share).collect();
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    assert!(mean > 0.75 && others.iter().all(|share| *share > 0.5), "{shares:.3?}");
}
