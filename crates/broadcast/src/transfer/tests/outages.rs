//! Links that carry nothing for a while: a host that comes back goes on, and an outage costs its own time and
//! little more.
//!
//! Every role, 1 to 60 s, once and again and again, as a link that is down and as one that drops what it
//! carries.

use super::support::{MIB, Run, config, run_lengths, run_until, star};
use crate::transfer::{Config, Settings, State};
use process::HostId;
use sim::{Change, LinkChange, Pause};
use units::Time;

const SWITCH: fabric::NodeId = fabric::NodeId(4);
const DURATIONS_S: [u64; 6] = [1, 2, 3, 10, 30, 60];
/// Until those that were cut off have found each other, are planned for, and data flows as before.
const FIND_S: f64 = 6.0;

/// Three hosts get 8 MiB at 10 Mb/s, some 7 s, along trees in which each of them is a relay or a leaf.
fn usual() -> Config {
    config(star(&[(10, 10), (10, 10), (10, 10), (4, 4)]), 8 * MIB, 64 << 10)
}

fn outage(host: u32, from: Time, time: Time, silent: bool) -> [(Time, Change); 2] {
    let node = fabric::NodeId(host);
    let (down, up) = match silent {
        true => (LinkChange::Loss(1.0), LinkChange::Loss(0.0)),
        false => (LinkChange::Down, LinkChange::Up),
    };
    [(from, Change::Link(node, SWITCH, down)), (from + time, Change::Link(node, SWITCH, up))]
}

fn last(run: &Run) -> f64 {
    (1..4).map(|host| run.completed(host)).fold(0.0, f64::max)
}

fn assert_all_done(run: &Run, what: &str) {
    assert_eq!(run.pause, Pause::Finished, "{what}");
    for host in 1..4 {
        let state = &run.progress[host].state;
        assert_eq!(*state, State::Finished, "host {host}, {what}");
        assert!(run.progress[host].completed.is_some(), "host {host}, {what}");
    }
}

#[test]
fn an_outage_costs_its_own_time() {
    let calm = last(&run_lengths(&usual(), Vec::new()));
    for host in 0..4 {
        for seconds in DURATIONS_S {
            for silent in [false, true] {
                let time = Time::from_secs(seconds);
                let run = run_lengths(&usual(), outage(host, Time::from_secs(2), time, silent).into());
                let what = format!("host {host} cut off for {seconds} s, silently: {silent}");
                assert_all_done(&run, &what);
                let took = last(&run);
                assert!(took < calm + seconds as f64 + FIND_S, "{what}: {took} s instead of {calm} s");
            }
        }
    }
}

#[test]
fn a_link_that_flaps_costs_the_times_that_it_is_down() {
    let calm = last(&run_lengths(&usual(), Vec::new()));
    for host in 0..4 {
        for seconds in DURATIONS_S {
            // As long up as down, but long enough to find each other.
            let period = Time::from_secs(seconds + seconds.max(5));
            let cut = |n| {
                outage(host, Time::from_secs(1) + period.saturating_mul(n), Time::from_secs(seconds), true)
            };
            let run = run_lengths(&usual(), (0..20).flat_map(cut).collect());
            let what = format!("host {host} cut off for {seconds} s again and again");
            assert_all_done(&run, &what);
            // Half of the time and more, and each time they have to find each other.
            let most = (calm + FIND_S) * 4.0 + 4.0 * period.as_secs_f64();
            assert!(last(&run) < most, "{what}: {} s instead of {calm} s", last(&run));
        }
    }
}

#[test]
fn a_host_that_is_cut_off_slows_nobody_else() {
    let calm = run_lengths(&usual(), Vec::new());
    // The slow host is nobody's relay; the others wait for a relay only until it is missed.
    for (host, waits) in [(3, 0.3), (1, 3.0 + FIND_S), (2, 3.0 + FIND_S)] {
        let run = run_lengths(&usual(), outage(host, Time::from_secs(2), Time::from_secs(60), true).into());
        for other in (1..4).filter(|other| *other != host as usize) {
            let (took, usual) = (run.completed(other), calm.completed(other));
            assert!(took < usual + waits, "host {other} without {host}: {took} s instead of {usual} s");
        }
    }
}

#[test]
fn nothing_moves_twice_because_of_an_outage() {
    let config = usual();
    for host in 0..4 {
        let faults = outage(host, Time::from_secs(2), Time::from_secs(10), true);
        let run = run_until(&config, &[], faults.into(), Time::from_secs(200));
        run.assert_whole(1..4);
        run.assert_once(1..4);
    }
}

#[test]
fn who_is_away_for_longer_than_anybodys_patience_has_failed_and_says_so() {
    let settings = Settings { patience: Time::from_secs(20), ..Settings::default() };
    let short = || Config { settings: settings.clone(), ..usual() };
    let cut = |host| outage(host, Time::from_secs(2), Time::from_secs(200), true);
    let run = run_until(&short(), &[], cut(1).into(), Time::from_secs(150));
    run.assert_whole([2, 3]);
    assert!(!run.progress[0].receivers[&HostId(1)].present);
    assert_eq!(run.progress[0].state, State::Finished);
    let State::Failed(why) = &run.progress[1].state else { panic!("{:?}", run.progress[1].state) };
    assert!(why.contains("the source, host 0, is gone"), "{why}");
    let run = run_until(&short(), &[], cut(0).into(), Time::from_secs(150));
    for host in 1..4 {
        let State::Failed(why) = &run.progress[host].state else { panic!("{:?}", run.progress[host].state) };
        assert!(why.contains("the source, host 0, is gone"), "{why}");
    }
}
