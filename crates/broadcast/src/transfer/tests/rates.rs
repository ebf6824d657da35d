//! The plan's rates come out, and a slow host costs the others nothing.

use super::support::{MIB, config, run, run_unknown, star};
use crate::algorithm::Algorithm;
use crate::transfer::{Config, Settings, State};
use sim::Pause;
use units::Rate;

/// The document's example: S = 100, A = 100, B = 40, C = 10 (slides 22 and 23).
fn example() -> crate::topology::Topology {
    star(&[(100, 100), (100, 100), (40, 40), (10, 10)])
}

#[test]
fn the_example_completes_as_its_stages_say() {
    let bytes = 8 * MIB;
    let config = config(example(), bytes, 32 << 10);
    let run = run(&config, &[], Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    run.assert_whole(1..4);
    run.assert_once(1..4);
    // What a link of 1500 byte packets carries of TCP's payload.
    let payload = 1448.0 / 1538.0;
    for (host, mbps) in [(1, 100.0), (2, 40.0), (3, 10.0)] {
        let planned = bytes as f64 * 8.0 / (mbps * 1e6 * payload);
        let ratio = run.completed(host) / planned;
        assert!((0.99..1.05).contains(&ratio), "host {host}: {ratio} of {planned} s");
    }
    for progress in &run.progress[1..] {
        assert_eq!(progress.received, bytes, "each byte once");
        assert_eq!(progress.state, State::Finished);
    }
}

#[test]
fn a_limit_counts_for_every_host_that_sends() {
    let bytes = 4 * MIB;
    for unknown in [false, true] {
        let limit = Some(Rate::from_bps(20_000_000));
        let network = star(&[(20, 100), (20, 100), (20, 40), (10, 10)]);
        let topology = if unknown { star(&[(20, 20); 4]) } else { network };
        let config = Config { limit, unknown, ..config(topology, bytes, 32 << 10) };
        let run = run_unknown(&example(), &config, Vec::new());
        assert_eq!(run.pause, Pause::Finished, "unknown: {unknown}");
        let last = (1..4).map(|host| run.completed(host)).fold(0.0, f64::max);
        for (host, progress) in run.progress.iter().enumerate() {
            let rate = progress.sent as f64 * 8.0 / last;
            assert!(rate < 20.2e6, "unknown: {unknown}, host {host}: {rate} bit/s");
        }
        // All that the plan knows of is used: the source alone could feed the two at 10 Mb/s each.
        for host in 1..3 {
            let least = bytes as f64 * 8.0 / 20e6;
            assert!(
                (0.99..1.3).contains(&(run.completed(host) / least)),
                "unknown: {unknown}, host {host}: {}",
                run.completed(host)
            );
        }
    }
}

#[test]
fn every_algorithm_brings_every_byte_once() {
    for algorithm in Algorithm::ALL {
        let settings = Settings { algorithm, ..Settings::default() };
        let config = Config { settings, ..config(example(), MIB, 16 << 10) };
        let run = run(&config, &[], Vec::new());
        assert_eq!(run.pause, Pause::Finished, "{algorithm}");
        run.assert_whole(1..4);
        run.assert_once(1..4);
    }
}

#[test]
fn a_run_is_the_same_again_and_has_a_task_a_receiver() {
    let config = config(example(), MIB, 16 << 10);
    let runs = [(); 2].map(|()| run(&config, &[], Vec::new()));
    assert_eq!(runs[0].fingerprint, runs[1].fingerprint);
    assert!(runs[0].end.is_some());
    let tasks = &runs[0].records.tasks;
    assert_eq!(tasks.len(), 3);
    assert!(tasks.iter().all(|task| task.kind == "receive" && task.bytes == MIB && task.end.is_some()));
    // A flow of chunks belongs to its receiver's task.
    let chunks = |bytes: u64| bytes > MIB / 10;
    let flows = runs[0].records.flows.iter().filter(|flow| chunks(flow.bytes));
    assert!(flows.clone().count() >= 3 && flows.clone().all(|flow| flow.group > 0));
}
