//! The application master's heartbeats: it asks for containers with one and hears of them with a later one.

use super::support::{Run, job, run};
use crate::{Framework, Job};
use sim::{Change, Pause, TaskOutcome};
use units::Time;

const MIB: u64 = 1 << 20;
const SECOND: Time = Time::from_secs(1);

/// Six maps and three reduces on two nodes of two slots; an application master that talks once a second.
fn slow(framework: Framework) -> Job {
    let mut job = job(framework, 2, 2, 48 * MIB);
    job.costs.master_heartbeat = SECOND;
    job
}

fn starts(run: &Run, kind: &str) -> Vec<Time> {
    let mut starts: Vec<Time> = run.tasks(kind).iter().map(|task| task.start).collect();
    starts.sort_unstable();
    starts
}

/// The application master's heartbeats between two times, if they differ by a whole number of them.
fn beats(from: Time, to: Time) -> Option<u64> {
    let rest = (to - from).as_ps() % SECOND.as_ps();
    let near = Time::from_ms(1).as_ps();
    (rest < near || rest > SECOND.as_ps() - near).then(|| ((to - from).as_ps() + near) / SECOND.as_ps())
}

#[test]
fn new_containers_start_with_the_application_master_s_heartbeats() {
    let run = run(&slow(Framework::MapReduce), 1, Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    let (maps, reduces) = (starts(&run, "map"), starts(&run, "reduce"));
    // The job is submitted and its application master started after 0.2 s and four calls.
    assert_eq!(beats(Time::from_ms(200), maps[0]), Some(2), "asked with the first, heard with the second");
    assert!(
        maps.iter().chain(&reduces).all(|start| beats(maps[0], *start).is_some()),
        "{maps:?} {reduces:?}"
    );
    // A reduce is allowed when the first map has ended, is asked for with the second heartbeat from there,
    // and heard of with the third.
    let first_end = run.tasks("map").iter().filter_map(|task| task.end).min().unwrap();
    assert!(reduces[0] > first_end + SECOND + SECOND, "{first_end} {reduces:?}");
    assert!(reduces[0] < first_end + SECOND + SECOND + SECOND + Time::from_ms(1), "{first_end} {reduces:?}");
}

#[test]
fn a_job_ends_a_heartbeat_after_its_commit() {
    let took = |framework, heartbeat| {
        let mut job = slow(framework);
        job.costs.master_heartbeat = heartbeat;
        let run = run(&job, 1, Vec::new());
        let last = run.tasks("reduce").iter().filter_map(|task| task.end).max().unwrap();
        run.end.unwrap() - last
    };
    let more = |framework| took(framework, SECOND).saturating_sub(took(framework, Time::ZERO));
    let (mapreduce, tez) = (more(Framework::MapReduce), more(Framework::Tez));
    assert!(mapreduce > Time::from_ms(950) && mapreduce < Time::from_ms(1050), "{mapreduce}");
    assert!(tez < Time::from_ms(50), "{tez}");
}

#[test]
fn containers_of_tez_that_are_used_again_wait_for_no_heartbeat() {
    let run = run(&slow(Framework::Tez), 1, Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    let all: Vec<Time> = [starts(&run, "map"), starts(&run, "reduce")].concat();
    let new = all.iter().filter(|start| beats(all[0], **start).is_some()).count();
    assert_eq!(new, 4, "as many as there are slots: {all:?}");
}

#[test]
fn a_container_on_a_node_that_is_lost_before_it_is_heard_of_goes_elsewhere() {
    // Nodes answer within 0.1 s of the first heartbeat, at 1.2 s; what they give is heard of at 2.2 s.
    for at in [1_400, 1_900, 2_100] {
        for framework in [Framework::MapReduce, Framework::Tez] {
            let mut job = slow(framework);
            job.costs.node_expiry = Time::from_ms(400);
            let crash = (Time::from_ms(at), Change::Crash(0));
            let run = run(&job, 1, vec![crash]);
            assert_eq!(run.pause, Pause::Finished, "{at} ms, {framework:?}");
            let ended = |kind| {
                let ok = run.tasks(kind).into_iter().filter(|task| task.outcome == TaskOutcome::Finished);
                ok.map(|task| task.number).collect::<std::collections::BTreeSet<_>>().len()
            };
            assert_eq!((ended("map"), ended("reduce")), (6, 3), "{at} ms, {framework:?}");
        }
    }
}
