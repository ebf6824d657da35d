//! Random scenarios with faults: topologies, loads, link flaps, crashes, loss, damage, changes of rate,
//! storms of PAUSE frames; static, shared and VOQ buffers, cells; RED, CoDel, step marking; ETS and PFC; five
//! congestion controls. Whatever happens:
//!
//! - packets are conserved at every link, switch and host: sent = arrived + dropped, by reason, + still in
//!   the network;
//! - what a capture of all ports shows is what counters count, and capturing changes nothing;
//! - PFC loses nothing of its classes for want of room, where PAUSE frames get through;
//! - a datagram that was sent has arrived, or a port or a host has counted why not, or it is still in the
//!   network;
//! - every flow ends well, or its outcome says why not, and the reason is there: a crash, the loss of its own
//!   packets, a deadlock, the end of the run;
//! - a flow that has ended well has carried the bytes that its job asked for, and none of a job's flows is
//!   missing;
//! - a deadlock is a cycle of switches' paused queues that no watchdog observes;
//! - a job that does not end has a reason too;
//! - the same seed gives the same result, and so does the same scenario with its parts listed in another
//!   order.
//!
//! The ordinary tests try a few cases with three seeds each, `make search` 2,000. A failure prints the
//! scenario and the command that runs its case again. With `--nocapture` a summary says what the cases had in
//! them.

mod balance;
mod draw;
mod facts;
mod judge;
mod losses;
mod parts;
mod run;
#[path = "../it/support.rs"]
mod support;
mod tally;

use facts::Facts;
use losses::Losses;
use run::{End, Seen};
use serde_json::{Value, json};
use sim::rng;
use std::collections::BTreeSet;
use std::env;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use tally::Tally;

/// Cases of the ordinary tests.
const FEW: u64 = 10;

#[test]
fn packets_are_conserved_and_flows_end_whatever_fails() {
    let tally = Mutex::new(Tally::default());
    in_all_cases(FEW, |scenario| {
        let seeded = |seed| {
            let mut scenario = scenario.clone();
            scenario["seed"] = json!(seed);
            check(&scenario)
        };
        let seen = [1, 2, 3].map(seeded);
        tally.lock().expect("no count fails").count(&scenario, &seen);
    });
    println!("{}", tally.into_inner().expect("no count fails"));
}

#[test]
fn a_run_in_parts_has_the_bytes_of_a_whole_run() {
    let cut = AtomicUsize::new(0);
    in_all_cases(2 * FEW, |mut scenario| {
        // What TCP does while it gives up is tried elsewhere, and thousands of flows make samples long.
        let until = scenario["until"].as_u64().expect("a time").min(2_000_000_000_000);
        scenario["until"] = json!(until);
        scenario["measure"] = json!({"interval": until / 53, "ports": ["*"], "flows": true, "capture": []});
        cut.fetch_add(usize::from(parts::alike(&scenario) > 1), Ordering::Relaxed);
    });
    let cut = cut.into_inner();
    println!("{cut} networks were cut");
    assert!(cut > 0 || env::var("STORM_CASE").is_ok());
}

/// Tries the scenario of each case that is asked for, `few` if none is, as many at a time as there are
/// processors. A case that fails does not keep the others from being tried.
fn in_all_cases(few: u64, tried: impl Fn(Value) + Sync) {
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let cases = match number("STORM_CASE") {
        Some(case) => case..case + 1,
        None => 0..number("STORM_CASES").unwrap_or(few),
    };
    let (next, failed) = (AtomicU64::new(cases.start), Mutex::new(Vec::new()));
    let work = || {
        while let case = next.fetch_add(1, Ordering::Relaxed)
            && cases.contains(&case)
        {
            let scenario = draw::scenario(&mut rng::stream(case, "storm"));
            if catch_unwind(AssertUnwindSafe(|| tried(scenario.clone()))).is_err() {
                eprintln!("case {case}: {scenario}");
                eprintln!(
                    "again: STORM_CASE={case} cargo test -p incast-scenario --test storms -- --nocapture"
                );
                failed.lock().expect("nothing fails here").push(case);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("nothing fails here");
    assert!(failed.is_empty(), "cases {failed:?} failed");
}

fn check(scenario: &Value) -> Seen {
    let facts = Facts::of(scenario);
    let mut plain = run::run(scenario);
    if plain.end == End::Deadlock {
        judge::deadlocked(&facts.scenario, &mut plain.sim);
    }
    let fingerprint = plain.sim.progress().fingerprint;
    let seen = plain.see();
    let again = run::run(scenario);
    assert_eq!(again.sim.progress().fingerprint, fingerprint, "the same seed");
    assert_eq!(again.see(), seen, "the same seed");

    let mut captured = scenario.clone();
    captured["measure"]["capture"] = json!(["*"]);
    let mut captured = run::run(&captured);
    let packets = std::mem::take(&mut captured.packets);
    let losses = Losses::of(&packets, &mut captured.sim);
    assert_eq!(captured.sim.progress().fingerprint, fingerprint, "captured");
    balance::conserved(&mut captured, &packets);
    if facts.lossless {
        balance::no_room_is_lost_for(&facts.scenario, &mut captured.sim, &packets);
    }
    assert_eq!(captured.see(), seen, "captured");
    balance::hosts_account_for(&seen, &losses);

    let mut turned = run::run(&turn(scenario)).see();
    // Events for hosts and ports of other numbers may fall together in another way.
    turned.events = seen.events;
    assert_eq!(turned, seen, "listed in another order");

    judge::explained(&facts, &seen, &losses);
    seen
}

/// The same scenario with jobs, faults, nodes and links in another order.
fn turn(scenario: &Value) -> Value {
    let mut scenario = scenario.clone();
    let turn = |list: &mut Value| list.as_array_mut().expect("a list").reverse();
    turn(&mut scenario["jobs"]);
    let times: BTreeSet<u64> = scenario["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|fault| fault["at"].as_u64())
        .collect();
    // Of faults at one time the first comes first.
    if times.len() == scenario["faults"].as_array().map_or(0, Vec::len) {
        turn(&mut scenario["faults"]);
    }
    if scenario["topology"]["kind"] == "graph" {
        turn(&mut scenario["topology"]["nodes"]);
        // Parallel links keep their order.
        let links = scenario["topology"]["links"].as_array_mut().expect("a list");
        links.sort_by_key(|link| {
            let mut ends = [link["a"].to_string(), link["b"].to_string()];
            ends.sort();
            std::cmp::Reverse(ends)
        });
    }
    scenario
}
