//! Links whose rate changes on the way.

use super::support::{MBPS, MIB, Run, config, run, star};
use crate::algorithm::Algorithm;
use crate::transfer::{Config, Settings};
use sim::{Change, LinkChange};
use units::{Rate, Time};

/// The link of host 1 is at full rate and at 0.3 of it in turn, `every` so long.
fn flips(every: Time, times: u64) -> Vec<(Time, Change)> {
    let (host, switch) = (fabric::NodeId(1), fabric::NodeId(4));
    let rate = |turn: u64| Rate::from_bps(if turn % 2 == 1 { 30 * MBPS } else { 100 * MBPS });
    let change = |turn| Change::Link(host, switch, LinkChange::Rate(rate(turn)));
    (1..=times).map(|turn| (every.saturating_mul(turn), change(turn))).collect()
}

fn copy(bytes: u64, replan: bool, faults: Vec<(Time, Change)>) -> Run {
    let settings = Settings { replan, ..Settings::default() };
    let config = Config { settings, ..config(star(&[(100, 100); 4]), bytes, 32 << 10) };
    let run = run(&config, &[], faults);
    run.assert_whole(1..4);
    run.assert_once(1..4);
    run
}

#[test]
fn a_link_that_gets_slow_is_planned_around() {
    let slow = flips(Time::from_ms(500), 1);
    let (stuck, planned) = (copy(24 * MIB, false, slow.clone()), copy(24 * MIB, true, slow));
    // The chain leads through the slow host: all have its rate, unless the others are fed past it.
    for host in [2, 3] {
        assert!(stuck.completed(host) > 5.0, "host {host}: {} s", stuck.completed(host));
        assert!(planned.completed(host) < 3.7, "host {host}: {} s", planned.completed(host));
    }
    assert!(planned.completed(1) < stuck.completed(1) * 1.1);
}

#[test]
fn a_link_that_is_fast_again_is_used_again() {
    let run = copy(64 * MIB, true, flips(Time::from_ms(500), 2));
    // 64 MiB at 94 Mb/s of payload take 5.7 s; half a second of it was at 0.3, and finding out takes as long.
    assert!(run.completed(1) < 8.0, "{} s", run.completed(1));
}

#[test]
fn steady_links_need_one_plan() {
    let run = copy(24 * MIB, true, Vec::new());
    assert_eq!(run.progress[3].plans, 1);
}

#[test]
fn hosts_that_share_a_link_are_not_slowed_down_for_good() {
    // The source's link is taken by all: some get less than planned for a while, which is no link's fault.
    let links: Vec<(u64, u64)> = [20; 8].into_iter().chain([2]).map(|rate| (rate, rate)).collect();
    let settings = Settings { algorithm: Algorithm::Flat, ..Settings::default() };
    let config = Config { settings, ..config(star(&links), 2 * MIB, 64 << 10) };
    let run = run(&config, &[], Vec::new());
    run.assert_whole(1..9);
    run.assert_once(1..9);
    // 2 MiB at 2 Mb/s are 8.4 s, and the other seven take the source's link for nearly as long.
    assert!(run.completed(8) < 17.0, "{} s", run.completed(8));
}
