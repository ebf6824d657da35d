//! Remote calls: one after the other, a round trip each, and none for a work that is gone.

use super::support::{LINK, Run, job, run, run_over};
use crate::wire::Message;
use crate::{Framework, Job};
use fabric::{LinkProps, NodeId};
use process::HostId;
use sim::{Change, LinkChange, Pause};
use std::collections::BTreeMap;
use units::Time;

const MIB: u64 = 1 << 20;
/// Between a compute node and the master there are two links.
const FAR: LinkProps = LinkProps { delay: Time::from_ms(5), ..LINK };
const ROUND_TRIP: Time = Time::from_ms(20);

/// One map and then one reduce on one node.
fn short(framework: Framework, container_rpcs: u32, task_rpcs: u32) -> Job {
    let mut job = job(framework, 1, 1, MIB);
    (job.reduces, job.slow_start) = (1, (1.0, 1.0));
    job.costs.variation = 0.0;
    job.costs.container_rpcs = container_rpcs;
    (job.costs.map_rpcs, job.costs.reduce_rpcs) = (task_rpcs, task_rpcs);
    (job.costs.master_rpcs, job.costs.commit_rpcs) = (0, 0);
    job
}

/// What `longer` takes more than `shorter`, in round trips and a rest.
fn round_trips(longer: Time, shorter: Time) -> (u64, Time) {
    let more = longer - shorter;
    let whole = more.as_ps() / ROUND_TRIP.as_ps();
    (whole, more - Time::from_ps(whole * ROUND_TRIP.as_ps()))
}

/// How long the only task of a kind took.
fn took(run: &Run, kind: &str) -> Time {
    let task = run.tasks(kind)[0];
    task.end.unwrap() - task.start
}

/// Calls of each work on a host.
fn calls_of(run: &Run, host: HostId) -> BTreeMap<u64, Vec<Time>> {
    let mut calls: BTreeMap<u64, Vec<Time>> = BTreeMap::new();
    for (time, by, message) in &run.calls {
        if let (true, Message::Call { work }) = (*by == host, message) {
            calls.entry(*work).or_default().push(*time);
        }
    }
    calls
}

#[test]
fn a_map_takes_a_round_trip_longer_for_each_call() {
    for framework in [Framework::MapReduce, Framework::Tez] {
        let without = run_over(FAR, &short(framework, 0, 0), 1, Vec::new());
        for (container_rpcs, task_rpcs) in [(1, 0), (0, 1), (7, 0), (0, 6), (20, 15)] {
            let with = run_over(FAR, &short(framework, container_rpcs, task_rpcs), 1, Vec::new());
            let (calls, rest) = round_trips(took(&with, "map"), took(&without, "map"));
            assert_eq!(calls, u64::from(container_rpcs + task_rpcs), "{framework:?}");
            assert!(rest < Time::from_us(100), "{rest}: sending takes microseconds");
        }
    }
}

#[test]
fn a_job_takes_a_round_trip_longer_for_each_call_on_its_way() {
    // With Tez the reduce follows the map in the same container, without a heartbeat between them. Without
    // calls, it waits ten milliseconds for the answer to its node's question for finished maps: so one is
    // there always.
    let end = |container_rpcs, task_rpcs| {
        let job = short(Framework::Tez, container_rpcs, task_rpcs);
        run_over(FAR, &job, 1, Vec::new()).end.unwrap()
    };
    for (container_rpcs, task_rpcs) in [(20, 1), (0, 11), (20, 11)] {
        let (calls, rest) = round_trips(end(container_rpcs, task_rpcs), end(0, 1));
        assert_eq!(calls, u64::from(container_rpcs + 2 * (task_rpcs - 1)));
        assert!(rest < Time::from_ms(1), "{rest}");
    }
}

#[test]
fn a_job_takes_a_round_trip_longer_for_each_call_of_its_application_master() {
    // The calls at the commit begin while the log is uploaded: so there are some always. Five round trips are
    // a heartbeat, so the nodes' heartbeats come at the same phase.
    let end = |master_rpcs, commit_rpcs| {
        let mut job = short(Framework::MapReduce, 0, 0);
        (job.costs.master_rpcs, job.costs.commit_rpcs) = (master_rpcs, commit_rpcs);
        job.costs.heartbeat = Time::from_ms(100);
        run_over(FAR, &job, 1, Vec::new()).end.unwrap()
    };
    for (master_rpcs, commit_rpcs) in [(5, 20), (0, 21), (0, 50), (10, 27)] {
        let (calls, rest) = round_trips(end(master_rpcs, commit_rpcs), end(0, 20));
        assert_eq!(calls, u64::from(master_rpcs + commit_rpcs - 20));
        assert!(rest < Time::from_ms(1), "{rest}");
    }
}

#[test]
fn only_a_node_s_first_containers_wait_for_the_job_s_files() {
    let took = |localisation_rpcs| {
        let mut job = short(Framework::MapReduce, 1, 1);
        job.costs.localisation_rpcs = localisation_rpcs;
        let run = run_over(FAR, &job, 1, Vec::new());
        (took(&run, "map"), took(&run, "reduce"))
    };
    let (without, with) = (took(0), took(12));
    assert_eq!(round_trips(with.0, without.0).0, 12, "the map's container is the first");
    assert!(with.1.max(without.1) - with.1.min(without.1) < ROUND_TRIP, "the reduce's is not");
}

#[test]
fn the_application_master_calls_from_another_node_when_its_own_is_lost() {
    let mut job = job(Framework::MapReduce, 2, 2, 8 * MIB);
    job.costs.master_rpcs = 100;
    job.costs.node_expiry = Time::from_secs(1);
    let run = run_over(FAR, &job, 1, vec![(Time::from_secs(1), Change::Crash(0))]);
    assert_eq!(run.pause, Pause::Finished);
    let answers = |host| {
        run.calls.iter().filter(|(_, by, m)| *by == host && matches!(m, Message::Answer { work: 0 })).count()
    };
    let (first, second) = (answers(HostId(0)), answers(HostId(1)));
    assert!(first > 10 && second > 10, "{first}, {second}");
    assert!(first + second >= 100 + job.costs.commit_rpcs as usize);
}

#[test]
fn the_next_call_is_made_when_the_last_is_answered() {
    let run = run_over(FAR, &job(Framework::MapReduce, 2, 2, 100 * MIB), 1, Vec::new());
    assert_eq!(run.pause, Pause::Finished);
    for host in [HostId(0), HostId(1)] {
        for (work, times) in calls_of(&run, host) {
            assert!(times.windows(2).all(|pair| pair[1] >= pair[0] + ROUND_TRIP), "work {work} of {host:?}");
        }
    }
}

#[test]
fn a_container_makes_its_calls_once_and_a_task_its_own() {
    for framework in [Framework::MapReduce, Framework::Tez] {
        let job = job(framework, 3, 2, 100 * MIB);
        let run = run(&job, 1, Vec::new());
        let (maps, reduces) = (run.tasks("map").len() as u32, run.tasks("reduce").len() as u32);
        let costs = &job.costs;
        let containers = run.tasks("log-upload").len() as u32;
        assert_eq!(containers, if framework == Framework::Tez { 6 } else { maps + reduces });
        let run_calls = run
            .calls
            .iter()
            .filter(|call| !matches!(call.2, Message::Call { work: 0 } | Message::Answer { work: 0 }));
        let count = |of: fn(&Message) -> bool| run_calls.clone().filter(|call| of(&call.2)).count() as u32;
        let calls = count(|message| matches!(message, Message::Call { .. }));
        assert_eq!(
            calls,
            containers * costs.container_rpcs + maps * costs.map_rpcs + reduces * costs.reduce_rpcs
        );
        assert_eq!(count(|message| matches!(message, Message::Answer { .. })), calls);
    }
}

#[test]
fn a_container_that_is_lost_stops_calling() {
    let mut job = job(Framework::MapReduce, 2, 2, 100 * MIB);
    job.costs.container_rpcs = 100;
    (job.costs.node_expiry, job.costs.socket_timeout) = (Time::from_secs(2), Time::from_secs(1));
    let link = |change| Change::Link(NodeId(0), NodeId(5), change);
    let (cut, back) = (Time::from_secs(1), Time::from_secs(6));
    let run = run_over(FAR, &job, 1, vec![(cut, link(LinkChange::Down)), (back, link(LinkChange::Up))]);
    assert_eq!(run.pause, Pause::Finished);
    let calls = calls_of(&run, HostId(0));
    let before: Vec<_> = calls.values().filter(|times| times[0] < cut).collect();
    assert_eq!(before.len(), 2, "a container in each slot");
    for times in before {
        assert!(times.len() < 100, "it was cut off while it called");
        assert!(times.iter().all(|time| *time < cut), "it waits for an answer, and then is no more");
    }
    let total = |calls: usize| {
        [job.costs.map_rpcs, job.costs.reduce_rpcs]
            .map(|n| (job.costs.container_rpcs + n) as usize)
            .contains(&calls)
    };
    let after = calls.values().filter(|times| times[0] > back);
    assert!(after.clone().count() > 0, "the node takes part again");
    assert!(after.into_iter().all(|times| total(times.len())));
}

#[test]
fn without_a_master_nobody_calls() {
    let mut job = job(Framework::Tez, 2, 2, 100 * MIB);
    job.costs.container_rpcs = 10_000;
    let crash = Time::from_ms(600);
    let run = run_over(FAR, &job, 1, vec![(crash, Change::Crash(2))]);
    assert_eq!(run.pause, Pause::Idle);
    let last = run.calls.iter().map(|call| call.0).max().unwrap();
    assert!(last > Time::from_ms(400) && last <= crash + ROUND_TRIP, "{last}");
}
