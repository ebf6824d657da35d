//! What did not end well has a reason.

use crate::facts::Facts;
use crate::losses::Losses;
use crate::run::{End, Flow, Seen};
use scenario::Scenario;
use scenario::kinds::Work;
use scenario::lab::Job;
use sim::{Outcome, Sim};
use traffic::{AllToAll, Bulk, Incast, Permutation};

/// TCP gives up after so many SYNs in a row.
const SYNS: u64 = 6;
/// And after so many timeouts in a row.
const ATTEMPTS: u64 = 15;

/// What did not end well has a reason.
pub fn explained(facts: &Facts, seen: &Seen, losses: &Losses) {
    let crashes = !facts.crashed.is_empty();
    match seen.end {
        End::Finished => assert!(seen.open_jobs.is_empty()),
        End::Stuck => {
            for job in &seen.open_jobs {
                let broken = |flow: &Flow| flow.job == *job && flow.outcome != Outcome::Finished;
                let reason = crashes || seen.flows.iter().any(broken);
                assert!(reason, "{job} is stuck, and its flows are not: {:?}", seen.flows);
            }
        }
        End::Deadlock => assert!(seen.pauses > 0, "a deadlock without pauses"),
        End::Until | End::Budget => {}
    }
    if seen.settled {
        assert_eq!(seen.in_transit, 0, "nothing will happen, and packets are in the network");
    }
    let well = seen.flows.iter().all(|flow| flow.outcome == Outcome::Finished);
    if seen.settled && !crashes && well {
        assert!(seen.released, "something of a flow is left in the network");
    }
    for flow in &seen.flows {
        judge(facts, flow, seen, losses);
    }
    if seen.end == End::Finished && !crashes && well {
        facts.scenario.jobs.iter().for_each(|job| all_are_there(job, seen));
    }
}

/// A flow has ended well, or its outcome says why not, and the reason is there.
fn judge(facts: &Facts, flow: &Flow, seen: &Seen, losses: &Losses) {
    let is_hit = |flow: &Flow| [&flow.from.0, &flow.to.0].iter().any(|host| facts.crashed.contains(*host));
    let hit = is_hit(flow);
    // A client waits for all its servers, and TCP does not tell it that one of them has lost the connection.
    let is_lost = |of: &Flow| is_hit(of) || !matches!(of.outcome, Outcome::Finished | Outcome::Unfinished);
    let waits =
        seen.open_jobs.contains(&flow.job) && seen.flows.iter().any(|of| of.job == flow.job && is_lost(of));
    let cut_off = matches!(seen.end, End::Until | End::Budget | End::Deadlock) || !seen.settled;
    match flow.outcome {
        // A background stream may be closed before it has begun.
        Outcome::Finished => {
            assert!(flow.end.is_some() && (flow.bytes > 0 || facts.background(&flow.job)), "{flow:?}");
            let job =
                facts.scenario.jobs.iter().find(|job| job.name == flow.job).expect("a job of the scenario");
            assert!(may_ask(&job.work, flow.bytes), "not what {:?} asks for: {flow:?}", job.work);
        }
        Outcome::Unfinished => assert!(hit || waits || cut_off, "{flow:?}"),
        Outcome::Refused | Outcome::Reset => assert!(hit, "{flow:?}"),
        Outcome::TimedOut => {
            let lost = losses.of_flow(flow).lost + seen.no_route(flow);
            let least = if flow.bytes == 0 { SYNS } else { ATTEMPTS };
            assert!(hit || lost >= least, "{lost} of its packets were lost: {flow:?}");
        }
    }
    if flow.outcome != Outcome::Finished {
        assert_eq!(flow.end, None, "{flow:?}");
    }
}

/// Whether a flow of `work` that has ended well may have carried so many bytes.
fn may_ask(work: &Work, bytes: u64) -> bool {
    match work {
        Work::Bulk(Bulk { bytes: each, .. })
        | Work::Incast(Incast { bytes: each, .. })
        | Work::Permutation(Permutation { bytes: each, .. })
        | Work::AllToAll(AllToAll { bytes: each, .. }) => bytes == *each,
        Work::Load(job) => bytes > 0 && job.sizes.last().is_some_and(|(most, _)| bytes <= *most),
        Work::Replay(job) => job.flows.iter().any(|flow| flow.bytes == bytes),
        Work::Coflows(job) => job.coflows.iter().any(|coflow| {
            let count = coflow.mappers.len() as u64;
            coflow.reducers.iter().any(|(_, all)| bytes == all / count || bytes == all.div_ceil(count))
        }),
        _ => true,
    }
}

/// A job that has ended well has opened all its flows.
fn all_are_there(job: &Job, seen: &Seen) {
    let expected = match &job.work {
        Work::Bulk(job) => job.pairs.len(),
        Work::Incast(job) => job.senders.len() * job.rounds as usize,
        Work::Permutation(job) => job.hosts.len(),
        Work::AllToAll(job) => job.hosts.len() * (job.hosts.len() - 1),
        Work::Replay(job) => job.flows.len(),
        Work::Coflows(job) => job
            .coflows
            .iter()
            .flat_map(|coflow| coflow.reducers.iter().map(|(_, all)| (coflow.mappers.len() as u64).min(*all)))
            .sum::<u64>() as usize,
        _ => return,
    };
    let flows = seen.flows.iter().filter(|flow| flow.job == job.name).count();
    assert_eq!(flows, expected, "flows of {}", job.name);
}

/// A deadlock is a cycle of queues of switches that PFC has paused, and none of them has a watchdog.
pub fn deadlocked(scenario: &Scenario, sim: &mut Sim) {
    let pfc = scenario.switches[0].config.pfc.as_ref().expect("PFC");
    assert!(pfc.watchdog.is_none(), "a watchdog breaks a deadlock");
    let cycle = sim.deadlock().expect("the run ended for it").cycle;
    assert!(cycle.len() > 1, "{cycle:?}");
    let (now, hosts) = (sim.progress().now, sim.graph().hosts());
    for (number, (port, class)) in cycle.iter().enumerate() {
        let network = sim.network();
        let next = cycle[(number + 1) % cycle.len()].0;
        assert_eq!(network.ends(*port).1, network.ends(next).0, "each waits for the next: {cycle:?}");
        assert!(network.ends(*port).0.0 as usize >= hosts, "a switch's queue: {cycle:?}");
        assert!(
            pfc.classes & (1 << class) != 0 && network.in_transit(*port) > 0,
            "it holds packets: {cycle:?}"
        );
        let pauses = network.pause_counters(now, *port, *class).expect("a port with PFC");
        assert!(pauses.xoff_received > 0, "it is paused: {pauses:?}");
    }
}
