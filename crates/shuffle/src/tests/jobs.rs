//! Whole jobs: every byte once, in the right order, within the limits.

use super::support::{Run, job, run};
use crate::wire::Message;
use crate::{Framework, Job};
use proptest::prelude::*;
use sim::{Outcome, Pause, TaskOutcome};
use std::collections::BTreeMap;
use units::Time;
use units::testing::cases;

const MIB: u64 = 1 << 20;

/// Most intervals that overlap at a time; one that ends where another begins doesn't overlap it.
fn overlap(intervals: impl Iterator<Item = (Time, Time)>) -> usize {
    let mut changes: Vec<(Time, i32)> =
        intervals.flat_map(|(start, end)| [(start, 1), (end.max(start), -1)]).collect();
    changes.sort();
    let mut now = 0;
    changes.iter().map(|(_, change)| (now += change, now).1).max().unwrap_or(0) as usize
}

/// Everything that holds for a job without faults.
fn check(job: &Job, run: &Run) {
    assert_eq!(run.pause, Pause::Finished);
    assert!(run.records.tasks.iter().all(|task| task.outcome == TaskOutcome::Finished));
    assert!(run.records.flows.iter().all(|flow| flow.outcome == Outcome::Finished), "no stream is left");
    bytes_are_conserved(job, run);
    order_is_kept(job, run);
    limits_are_kept(job, run);
}

fn bytes_are_conserved(job: &Job, run: &Run) {
    let maps = job.maps();
    let bytes = |kind| run.tasks(kind).iter().map(|task| task.bytes).sum::<u64>();
    for kind in ["map", "shuffle", "merge", "reduce"] {
        assert_eq!(bytes(kind), job.bytes, "{kind}");
    }
    let numbers = |kind| run.tasks(kind).iter().map(|task| task.number).collect::<Vec<_>>();
    assert_eq!(numbers("map"), (0..maps).collect::<Vec<_>>());
    assert_eq!(numbers("reduce"), (0..u64::from(job.reduces)).collect::<Vec<_>>());
    let mut fetched: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let (mut read, mut written, mut logs) = (0, 0, 0);
    for (_, _, to, message) in &run.heard {
        match message {
            Message::Fetch { reduce, maps } => {
                maps.iter().for_each(|map| *fetched.entry((*map, *reduce)).or_default() += 1);
            }
            Message::Read { bytes } => read += bytes,
            Message::Write { bytes, .. } if *bytes == job.log_bytes && job.log_nodes.contains(to) => {
                logs += 1
            }
            Message::Write { bytes, .. } => written += bytes,
            _ => {}
        }
    }
    assert_eq!(fetched.len() as u64, maps * u64::from(job.reduces));
    assert!(fetched.values().all(|times| *times == 1), "each output is fetched once by each reduce");
    assert_eq!(read, job.bytes);
    assert_eq!(written, job.bytes * u64::from(job.output_replication));
    assert_eq!(logs, run.tasks("log-upload").len());
    // What was asked for is what the network carried, and a little for requests.
    let carried: u64 = run.records.flows.iter().filter(|flow| flow.group > 0).map(|flow| flow.bytes).sum();
    let asked = job.bytes * (2 + u64::from(job.output_replication)) + logs as u64 * job.log_bytes;
    assert!((asked..asked + 300 * run.records.flows.len() as u64).contains(&carried), "{carried} of {asked}");
}

fn order_is_kept(job: &Job, run: &Run) {
    let mut map_ends: Vec<Time> = run.tasks("map").iter().map(|task| task.end.unwrap()).collect();
    map_ends.sort();
    // Slow start: so many maps have finished before the first reduce begins.
    let before = (job.slow_start.0 * job.maps() as f64).ceil() as usize;
    let first = run.tasks("reduce").iter().map(|task| task.start).min().unwrap();
    assert!(before == 0 || map_ends[before - 1] <= first, "{before} maps before the first reduce");
    // The barrier: no merge, and no reduce function, before the last map's output is fetched.
    for merge in run.tasks("merge") {
        let shuffle = run.tasks("shuffle")[merge.number as usize];
        assert!(shuffle.end.unwrap() <= merge.start);
        assert!(*map_ends.last().unwrap() <= merge.start);
        let fetches = run.records.flows.iter().filter(|flow| flow.group == shuffle.task);
        assert!(fetches.map(|flow| flow.end.unwrap()).max().unwrap() <= merge.start);
    }
}

fn limits_are_kept(job: &Job, run: &Run) {
    for host in &job.compute {
        let here = |task: &&sim::TaskRecord| task.host == host.0 && ["map", "reduce"].contains(&task.kind);
        let running = run.records.tasks.iter().filter(here).map(|task| (task.start, task.end.unwrap()));
        assert!(overlap(running) <= job.slots as usize, "containers on host {}", host.0);
    }
    for shuffle in run.tasks("shuffle") {
        let fetches = run.records.flows.iter().filter(|flow| flow.group == shuffle.task);
        let open = overlap(fetches.map(|flow| (flow.start, flow.end.unwrap())));
        assert!(open <= job.parallel_copies as usize, "{open} fetches of reduce {}", shuffle.number);
    }
}

#[test]
fn a_small_job_on_each_framework() {
    let mut told = String::new();
    for framework in [Framework::MapReduce, Framework::Tez] {
        let job = job(framework, 3, 2, 100 * MIB);
        let run = run(&job, 1, Vec::new());
        check(&job, &run);
        let ms = |time: Time| time.as_us() / 1000;
        let last = |kind| run.tasks(kind).iter().map(|task| ms(task.end.unwrap())).max().unwrap();
        told += &format!(
            "{framework:?}: maps {}, shuffle {}, reduces {}, job {}, flows {}\n",
            last("map"),
            last("shuffle"),
            last("reduce"),
            ms(run.end.unwrap()),
            run.records.flows.len(),
        );
    }
    assert_eq!(told, GOLDEN);
}

/// Milliseconds at which the last of each ended.
const GOLDEN: &str = "\
MapReduce: maps 1253, shuffle 1307, reduces 1743, job 1753, flows 70
Tez: maps 850, shuffle 914, reduces 1348, job 1359, flows 57
";

#[test]
fn tez_starts_fewer_containers() {
    let logs = |framework| run(&job(framework, 3, 2, 100 * MIB), 1, Vec::new()).tasks("log-upload").len();
    // A log a container: one a task, or one a slot.
    assert_eq!(logs(Framework::MapReduce), 13 + 3);
    assert_eq!(logs(Framework::Tez), 6);
}

#[test]
fn a_replication_pipeline_is_a_chain() {
    let mut job = job(Framework::MapReduce, 2, 4, 20 * MIB);
    job.output_replication = 3;
    let run = run(&job, 3, Vec::new());
    check(&job, &run);
    let writes = |rest_len: usize| {
        let matching = run.heard.iter().filter_map(move |(_, from, _, message)| match message {
            Message::Write { rest, bytes, .. } if rest.len() == rest_len && *bytes != 10_000 => Some(*from),
            _ => None,
        });
        matching.collect::<Vec<_>>()
    };
    assert!(writes(2).iter().all(|from| job.compute.contains(from)), "the client writes to the first");
    for hop in [1, 0] {
        assert_eq!(writes(hop).len(), writes(2).len());
        assert!(writes(hop).iter().all(|from| job.data.contains(from)), "a data node writes to the next");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let fingerprint = |seed| run(&job(Framework::Tez, 2, 2, 40 * MIB), seed, Vec::new()).fingerprint;
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1), fingerprint(2));
}

#[test]
fn a_full_buffer_holds_fetches_up_and_is_merged() {
    let mut job = job(Framework::MapReduce, 3, 2, 100 * MIB);
    job.reduce_memory = MIB;
    let run = run(&job, 1, Vec::new());
    check(&job, &run);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn every_byte_once_in_order_within_limits(
        tez in any::<bool>(),
        (compute, data) in (1u32..5, 1u32..4),
        bytes in 1u64..60 * MIB,
        block in MIB..20 * MIB,
        (slots, reduces) in (1u32..4, 1u32..8),
        copies in 1u32..4,
        parallel in 1u32..6,
        slow_start in 0.0f64..1.0,
        (io_sort, memory) in (100_000u64..10 * MIB, 100_000u64..10 * MIB),
        seed in any::<u64>(),
    ) {
        let mut job = job(if tez { Framework::Tez } else { Framework::MapReduce }, compute, data, bytes);
        job.block = block;
        job.slots = slots;
        job.reduces = reduces;
        job.input_replication = copies.min(data);
        job.output_replication = copies.min(data);
        job.parallel_copies = parallel;
        job.slow_start = (slow_start, 1.0);
        job.io_sort = io_sort;
        job.reduce_memory = memory;
        check(&job, &run(&job, seed, Vec::new()));
    }
}
