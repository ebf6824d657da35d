//! Hosts, disks and links that fail cost themselves only, and what can't be finished says so.

use super::support::{MIB, Run, Trouble, config, run, run_on, run_until, star};
use crate::topology::Topology;
use crate::transfer::{Config, Settings, State};
use proptest::prelude::*;
use sim::{Change, LinkChange, Pause};
use units::Time;
use units::testing::cases;

const SWITCH: fabric::NodeId = fabric::NodeId(4);

/// Hosts are given up soon.
fn soon() -> Settings {
    let (report, silence, patience) = (Time::from_ms(100), Time::from_ms(600), Time::from_secs(2));
    Settings { report, silence, patience, ..Settings::default() }
}

fn quick(topology: Topology) -> Config {
    Config { settings: soon(), ..config(topology, 4 * MIB, 16 << 10) }
}

/// The document's example.
fn example() -> Config {
    quick(star(&[(100, 100), (100, 100), (40, 40), (10, 10)]))
}

/// The same, on a network whose rates may have to be found out.
fn run_example(unknown: bool, faults: Vec<(Time, Change)>) -> Run {
    let known = example();
    let mut config = known.clone();
    if unknown {
        let settings = Settings { headroom: None, ..soon() };
        config = Config { unknown, settings, ..quick(star(&[(10_000, 10_000); 4])) };
    }
    run_on(&known.topology, &config, &[], faults, Time::from_secs(200))
}

fn reason(run: &Run, host: usize) -> String {
    match &run.progress[host].state {
        State::Failed(reason) => reason.clone(),
        state => panic!("host {host}: {state:?}"),
    }
}

#[test]
fn a_relay_that_dies_costs_only_itself() {
    let calm = run(&example(), &[], Vec::new());
    let run = run(&example(), &[], vec![(Time::from_ms(200), Change::Crash(1))]);
    run.assert_whole([2, 3]);
    run.assert_once([2, 3]);
    // Its children wait until it is missed; then they have other parents.
    for host in [2, 3] {
        assert!(run.completed(host) < calm.completed(host) + 1.2, "host {host}");
    }
    assert_eq!(run.progress[0].state, State::Finished);
    assert!(!run.progress[0].receivers[&process::HostId(1)].present);
}

#[test]
fn who_comes_back_goes_on_with_what_it_has() {
    let faults = vec![(Time::from_ms(200), Change::Crash(1)), (Time::from_ms(1500), Change::Restart(1))];
    let run = run(&example(), &[], faults);
    assert_eq!(run.pause, Pause::Finished);
    run.assert_whole(1..4);
    run.assert_once(1..4);
    assert!(run.progress[1].resumed > MIB, "{:?}", run.progress[1]);
}

#[test]
fn who_comes_late_gets_a_place_and_costs_the_others_nothing() {
    let calm = run(&example(), &[], Vec::new());
    let faults = vec![(Time::from_us(10), Change::Crash(2)), (Time::from_ms(150), Change::Restart(2))];
    let run = run(&example(), &[], faults);
    assert_eq!(run.pause, Pause::Finished);
    run.assert_whole(1..4);
    for host in [1, 3] {
        let (late, usual) = (run.completed(host), calm.completed(host));
        // The first plan waits a moment for hosts that are not there.
        assert!(late < usual * 1.05 + 0.05, "host {host}: {late} instead of {usual} s");
    }
}

#[test]
fn damaged_chunks_are_asked_again() {
    let trouble = Trouble { damaged_reads: 3, ..Trouble::default() };
    let run = run(&example(), &[(0, trouble), (1, trouble)], Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    run.assert_whole(1..4);
    run.assert_once(1..4);
    assert_eq!(run.progress.iter().map(|progress| progress.damaged).sum::<u64>(), 6);
}

#[test]
fn a_relay_that_has_another_chunk_is_found_out() {
    let trouble = Trouble { swapped: Some(77), ..Trouble::default() };
    let run = run(&example(), &[(1, trouble)], Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    run.assert_whole(1..4);
}

#[test]
fn a_source_whose_reads_are_all_damaged_is_named() {
    let trouble = Trouble { damaged_reads: u32::MAX, ..Trouble::default() };
    let run = run_until(&example(), &[(0, trouble)], Vec::new(), Time::from_secs(60));
    assert!(reason(&run, 1).contains("damaged 5 times, at last from host 0"), "{}", reason(&run, 1));
}

#[test]
fn a_full_disk_costs_only_its_host() {
    let calm = run(&example(), &[], Vec::new());
    let trouble = Trouble { room: Some(100), ..Trouble::default() };
    let run = run(&example(), &[(1, trouble)], Vec::new());
    assert_eq!(run.pause, Pause::Finished, "a host that failed is not waited for");
    run.assert_whole([2, 3]);
    assert!(reason(&run, 1).contains("no space left"));
    let seen = &run.progress[0].receivers[&process::HostId(1)];
    assert_eq!(seen.failed.as_deref(), Some("no space left on device"));
    for host in [2, 3] {
        assert!(run.completed(host) < calm.completed(host) + 0.4, "host {host}");
    }
}

#[test]
fn a_slow_disk_costs_only_its_host() {
    // The last in the chain has a disk of 80 Mb/s and a link of 100.
    let settings = Settings { disk: true, ..soon() };
    let config = Config { settings, ..quick(star(&[(100, 100), (60, 60), (100, 100)])) };
    let run = run(&config, &[], Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    run.assert_whole(1..3);
}

#[test]
fn a_host_behind_a_dead_link_is_planned_around() {
    let down = Change::Link(fabric::NodeId(1), SWITCH, LinkChange::Down);
    let run = run(&example(), &[], vec![(Time::from_ms(200), down)]);
    run.assert_whole([2, 3]);
    assert_eq!(run.progress[0].state, State::Finished);
}

#[test]
fn a_host_that_has_everything_takes_the_sources_place() {
    let run = run(&example(), &[], vec![(Time::from_ms(700), Change::Crash(0))]);
    run.assert_whole(1..4);
    run.assert_once(1..4);
    assert!(run.progress[2].completed.unwrap() > Time::from_ms(700));
    for host in 1..4 {
        assert_eq!(run.progress[host].state, State::Finished, "host {host}");
    }
}

#[test]
fn a_source_may_die_before_anybody_was_told_who_has_everything() {
    for order in [[10, 100, 100], [100, 10, 100], [100, 100, 10]] {
        let rates: Vec<(u64, u64)> = [100].into_iter().chain(order).map(|rate| (rate, rate)).collect();
        let config = quick(star(&rates));
        let calm = run(&config, &[], Vec::new());
        let fast = (1..4).filter(|host| order[host - 1] == 100).map(|host| calm.progress[host].completed);
        let both = fast.max().flatten().unwrap();
        for after_us in [100, 5_000, 30_000, 90_000] {
            let faults = vec![(both + Time::from_us(after_us), Change::Crash(0))];
            let run = run(&config, &[], faults);
            run.assert_whole(1..4);
            for host in 1..4 {
                let state = &run.progress[host].state;
                assert_eq!(*state, State::Finished, "host {host} of {order:?}, {after_us} us");
            }
        }
    }
}

#[test]
fn without_a_full_copy_everybody_is_told_what_is_missing() {
    let faults = vec![(Time::from_ms(100), Change::Crash(0))];
    let run = run_until(&example(), &[], faults, Time::from_secs(120));
    for host in 1..4 {
        let reason = reason(&run, host);
        assert!(reason.contains("the source, host 0, is gone"), "{reason}");
        assert!(reason.contains("of 256 chunks are on no host that is left"), "{reason}");
    }
}

#[test]
fn copies_that_make_a_whole_together_are_enough() {
    // Each fast host gets half of the file by a tree of its own; the source dies when all of it has left.
    let config = quick(star(&[(100, 100), (50, 50), (50, 50)]));
    let crash =
        |ms| run_until(&config, &[], vec![(Time::from_ms(ms), Change::Crash(0))], Time::from_secs(60));
    let ends: Vec<bool> = [300, 500, 650, 700, 750]
        .map(|ms| {
            let run = crash(ms);
            let states = [1, 2].map(|host| run.progress[host].state.clone());
            let whole = states.iter().all(|state| *state == State::Finished);
            let told = [1, 2]
                .iter()
                .all(|host| matches!(&states[host - 1], State::Failed(why) if why.contains("host 0")));
            assert!(whole || told, "at {ms} ms: {states:?}");
            whole
        })
        .into();
    assert!(!ends[0] && ends[4], "{ends:?}");
}

#[test]
fn the_source_dies_after_a_relay() {
    let faults = vec![(Time::from_ms(2001), Change::Crash(2)), (Time::from_ms(2701), Change::Crash(0))];
    let run = run_until(&example(), &[], faults, Time::from_secs(30));
    run.assert_whole([1, 3]);
    assert_eq!(run.progress[1].state, State::Finished);
}

#[test]
fn who_has_everything_when_it_takes_the_sources_place_is_complete() {
    // The source dies, then the relay, when host 2 has got the last chunk and nobody to ask for the hash of
    // all.
    let faults = vec![(Time::from_ms(401), Change::Crash(0)), (Time::from_ms(930), Change::Crash(1))];
    let run = run_until(&example(), &[], faults, Time::from_secs(30));
    run.assert_whole([2, 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]
    #[test]
    fn whoever_stays_gets_everything(
        faults in prop::collection::vec((1u32..4, 0u64..2500, prop::option::of(1u64..3000)), 1..5),
        unknown: bool,
    ) {
        let mut changes = Vec::new();
        for (host, at, back) in &faults {
            changes.push((Time::from_ms(*at), Change::Crash(*host)));
            if let Some(after) = back {
                changes.push((Time::from_ms(at + after), Change::Restart(*host)));
            }
        }
        changes.sort_by_key(|(at, _)| *at);
        let down = |host: u32| {
            let last = changes.iter().rev().find(|(_, c)| matches!(c, Change::Crash(h) | Change::Restart(h) if *h == host));
            matches!(last, Some((_, Change::Crash(_))))
        };
        let run = run_example(unknown, changes.clone());
        for host in 1..4 {
            // A host that is away for longer than the others take may find the broadcast over. It still gets
            // everything.
            if !down(host) {
                run.assert_whole([host as usize]);
                run.assert_once([host as usize]);
            }
        }
    }

    #[test]
    fn nobody_waits_for_ever_when_the_source_dies(
        at in 0u64..4000, other in 1u32..4, then in 0u64..4000, unknown: bool,
    ) {
        let mut changes = vec![(Time::from_ms(at), Change::Crash(0)), (Time::from_ms(then), Change::Crash(other))];
        changes.sort_by_key(|(at, _)| *at);
        let run = run_example(unknown, changes);
        for host in (1..4).filter(|host| *host != other as usize) {
            let state = &run.progress[host].state;
            prop_assert!(
                matches!(state, State::Finished) || matches!(state, State::Failed(why) if why.contains("host 0")),
                "host {}: {:?}", host, state
            );
            if *state == State::Finished {
                run.assert_whole([host]);
            }
        }
    }
}
