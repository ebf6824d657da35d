//! Hosts that crash: a job goes on without them, or says where it hangs.

use super::support::{job, run};
use crate::Framework;
use fabric::NodeId;
use sim::{Change, LinkChange, Pause, TaskOutcome};
use units::Time;

const MIB: u64 = 1 << 20;

fn crash(ms: u64, host: u32) -> (Time, Change) {
    (Time::from_ms(ms), Change::Crash(host))
}

#[test]
fn a_lost_data_node_is_read_around_and_written_around() {
    for framework in [Framework::MapReduce, Framework::Tez] {
        for ms in [400, 700, 1_200, 1_800] {
            let mut job = job(framework, 3, 3, 100 * MIB);
            job.log_bytes = 0;
            let run = run(&job, 1, vec![crash(ms, 4)]);
            assert_eq!(run.pause, Pause::Finished, "{framework:?}, lost after {ms} ms");
            let reduced: u64 = run.tasks("reduce").iter().map(|task| task.bytes).sum();
            assert_eq!(reduced, job.bytes);
        }
    }
}

#[test]
fn tasks_of_a_lost_compute_node_run_elsewhere() {
    for framework in [Framework::MapReduce, Framework::Tez] {
        for ms in [300, 700, 1_000] {
            let job = job(framework, 3, 2, 100 * MIB);
            let run = run(&job, 1, vec![crash(ms, 1)]);
            assert_eq!(run.pause, Pause::Finished, "{framework:?}, lost after {ms} ms");
            let whole = |task: &sim::TaskRecord| task.outcome == TaskOutcome::Finished && task.bytes > 0;
            let reduces = run.tasks("reduce").into_iter().filter(whole);
            assert_eq!(reduces.map(|task| task.bytes).sum::<u64>(), job.bytes);
            assert!(run.records.tasks.iter().any(|task| task.outcome == TaskOutcome::Lost && task.host == 1));
        }
    }
}

#[test]
fn reduces_that_hold_all_containers_make_room_for_maps() {
    // Most nodes are lost: MapReduce would start more reduces than there are containers left.
    let mut job = job(Framework::MapReduce, 3, 2, 100 * MIB);
    (job.reduces, job.slow_start) = (6, (0.3, 1.0));
    job.costs.node_expiry = Time::from_secs(1);
    let run = run(&job, 1, vec![crash(700, 0), crash(700, 1)]);
    assert_eq!(run.pause, Pause::Finished);
    assert!(run.end.unwrap() < Time::from_secs(20), "{:?}", run.end);
    let reduced: u64 = run.tasks("reduce").iter().map(|task| task.bytes).sum();
    assert!(reduced >= job.bytes, "{reduced}");
}

#[test]
fn a_compute_node_that_comes_back_takes_part_again() {
    let job = job(Framework::MapReduce, 2, 2, 200 * MIB);
    let run = run(&job, 1, vec![crash(500, 1), (Time::from_secs(1), Change::Restart(1))]);
    assert_eq!(run.pause, Pause::Finished);
    assert!(run.records.tasks.iter().any(|task| task.host == 1 && task.start > Time::from_secs(1)));
}

#[test]
fn a_job_without_data_nodes_ends_and_says_which_maps_hang() {
    let job = job(Framework::MapReduce, 2, 2, 100 * MIB);
    let run = run(&job, 1, vec![crash(600, 3), crash(600, 4)]);
    assert_eq!(run.pause, Pause::Idle, "nothing goes on for ever");
    let open: Vec<_> =
        run.records.tasks.iter().filter(|task| task.outcome == TaskOutcome::Unfinished).collect();
    assert!(open.iter().any(|task| task.kind == "application"));
    assert!(open.iter().any(|task| task.kind == "failed-map" && task.host == 2), "{open:?}");
    assert!(open.iter().any(|task| task.kind == "map"), "{open:?}");
}

#[test]
fn a_node_that_is_cut_off_is_lost_and_one_cut_off_for_a_while_comes_back() {
    let job = job(Framework::MapReduce, 3, 2, 100 * MIB);
    let link = |change| Change::Link(NodeId(1), NodeId(6), change);
    let down = (Time::from_ms(700), link(LinkChange::Down));
    let for_good = run(&job, 1, vec![down]);
    assert_eq!(for_good.pause, Pause::Finished);
    let for_a_second = run(&job, 1, vec![down, (Time::from_ms(1_700), link(LinkChange::Up))]);
    assert_eq!(for_a_second.pause, Pause::Finished);
    assert!(for_a_second.end < for_good.end, "no need to wait until the node is given up");
    assert!(for_a_second.tasks("map").iter().all(|map| map.bytes > 0), "no map ran twice for nothing");
}

#[test]
fn a_job_whose_master_is_cut_off_ends() {
    let job = job(Framework::MapReduce, 2, 2, 100 * MIB);
    let down = Change::Link(NodeId(2), NodeId(5), LinkChange::Down);
    let run = run(&job, 1, vec![(Time::from_ms(700), down)]);
    assert_eq!(run.pause, Pause::Idle);
    assert!(run.records.tasks.iter().any(|task| task.kind == "application" && task.end.is_none()));
}

#[test]
fn a_job_without_its_master_ends() {
    let job = job(Framework::Tez, 2, 2, 100 * MIB);
    let run = run(&job, 1, vec![crash(600, 2)]);
    assert_eq!(run.pause, Pause::Idle);
}
