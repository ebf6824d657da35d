//! Broadcasts as people type them, without a topology: rates are found out while the first chunks move.

use super::support::{MBPS, MIB, Run, config, run_unknown, star};
use crate::transfer::{Config, Settings, unknown_size};
use sim::{Change, LinkChange};
use units::{Rate, Time};

/// What a link of 1500 byte packets carries of TCP's payload.
const PAYLOAD: f64 = 1448.0 / 1538.0;

/// A broadcast between hosts of these rates, the source's first, in Mb/s both ways.
fn typed(rates: &[u64], bytes: u64, faults: Vec<(Time, Change)>) -> Run {
    let network = star(&rates.iter().map(|rate| (*rate, *rate)).collect::<Vec<_>>());
    let unknown = star(&vec![(10_000, 10_000); rates.len()]);
    let chunk = unknown_size(bytes, rates.len() as u64 - 1);
    let settings = Settings { headroom: None, ..Settings::default() };
    let config = Config { unknown: true, settings, ..config(unknown, bytes, chunk) };
    run_unknown(&network, &config, faults)
}

/// The time that a host could have alone over the time that it has.
fn share(rates: &[u64], bytes: u64, run: &Run, host: usize) -> f64 {
    let rate = rates[host].min(rates[0]) * MBPS;
    bytes as f64 * 8.0 / (rate as f64 * PAYLOAD) / run.completed(host)
}

/// That of each receiver.
fn shares(rates: &[u64], bytes: u64, faults: Vec<(Time, Change)>) -> Vec<f64> {
    let run = typed(rates, bytes, faults);
    (1..rates.len()).map(|host| share(rates, bytes, &run, host)).collect()
}

fn assert_shares(rates: &[u64], mebibytes: u64, least: f64) {
    let shares = shares(rates, mebibytes * MIB, Vec::new());
    println!("{rates:?} {mebibytes}: {shares:.3?}");
    assert!(shares.iter().all(|share| *share >= least), "{rates:?}, {mebibytes} MiB: {shares:.3?}");
}

#[test]
fn six_fast_ones_and_two_slow_ones() {
    assert_shares(&[30, 30, 30, 30, 30, 30, 30, 10, 3], 12, 0.9);
    assert_shares(&[30, 3, 10, 30, 30, 30, 30, 30, 30], 12, 0.9);
    assert_shares(&[30, 3, 10, 30, 30, 30, 30, 30, 30], 72, 0.945);
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
    assert_shares(&[30; 9], 12, 0.94);
}

#[test]
fn all_different() {
    assert_shares(&[40, 5, 10, 15, 20, 25, 30, 35, 40], 12, 0.9);
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

/// Three hosts of one rate, the source among them; host 2 goes and comes back at these times in milliseconds.
fn one_goes(mbps: u64, mebibytes: u64, at: u64, back: Option<u64>) -> (f64, Run) {
    let crash = (Time::from_us(10).max(Time::from_ms(at)), Change::Crash(2));
    let faults = std::iter::once(crash).chain(back.map(|at| (Time::from_ms(at), Change::Restart(2))));
    let (rates, bytes) = ([mbps; 3], mebibytes * MIB);
    let run = typed(&rates, bytes, faults.collect());
    (share(&rates, bytes, &run, 1), run)
}

#[test]
fn the_only_host_that_is_there_gets_everything_at_its_rate() {
    for mbps in [3, 10, 30] {
        let (share, run) = one_goes(mbps, 3, 0, None);
        assert!(share > 0.9, "{mbps} Mb/s: {share:.3}");
        assert_eq!(run.progress[2].completed, None);
    }
}

#[test]
fn a_host_that_comes_late_costs_the_other_nothing_and_gets_everything() {
    for mbps in [3, 10, 30] {
        for back in [100, 1000, 8000] {
            let (share, run) = one_goes(mbps, 12, 0, Some(back));
            assert!(share > 0.94, "{mbps} Mb/s, {back} ms: {share:.3}");
            let alone = run.completed(1) * share;
            let late = run.completed(2) - back as f64 / 1000.0;
            assert!(late < alone * 1.1, "{mbps} Mb/s, {back} ms: {late:.2} instead of {alone:.2} s");
        }
    }
}

#[test]
fn a_host_that_is_killed_costs_the_other_little() {
    for mbps in [3, 10, 30] {
        for at in [20, 70, 100, 300, 700] {
            for back in [None, Some(at + 50), Some(at + 2000)] {
                let (share, run) = one_goes(mbps, 3, at, back);
                assert!(share > 0.8, "{mbps} Mb/s, {at} ms, {back:?}: {share:.3}");
                assert_eq!(run.progress[2].completed.is_some(), back.is_some());
            }
        }
    }
}
