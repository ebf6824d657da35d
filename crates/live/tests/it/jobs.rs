//! The lab's own jobs: what they do on sockets is what they do in the simulator, but for when.

use crate::support::{PORT, Processes, live, simulated};
use live::{End, Outcome, Settings};
use process::{HostId, rng};
use traffic::{AllToAll, Flow, HostInfo, Incast, Job, Order, Replay};
use units::{Bytes, Rate, Time};

/// What doesn't depend on time: group, sender, receiver, bytes, all finished.
type Flows = Vec<(u64, u32, u32, u64)>;

fn processes(job: &Job, hosts: usize) -> Processes {
    let info = HostInfo { rate: Rate::from_gbps(10), mtu: Bytes::new(1500) };
    traffic::build(job, &vec![info; hosts], &mut rng::stream(1, "plan"), PORT).unwrap()
}

fn compare(job: &Job, hosts: usize) -> Flows {
    let reports = live(processes(job, hosts), &Settings::default());
    assert!(reports.iter().all(|report| report.end == End::Stopped));
    let rows = reports.iter().flat_map(|report| &report.flows);
    let mut on_sockets: Flows = rows
        .inspect(|row| assert_eq!((row.outcome, row.end_ps.is_some()), (Outcome::Finished, true), "{row:?}"))
        .map(|row| (row.group, row.from, row.to, row.bytes))
        .collect();
    let records = simulated(processes(job, hosts));
    let mut in_simulation: Flows =
        records.flows.iter().map(|flow| (flow.group, flow.from.host.0, flow.to.host.0, flow.bytes)).collect();
    on_sockets.sort_unstable();
    in_simulation.sort_unstable();
    assert_eq!(on_sockets, in_simulation);
    on_sockets
}

#[test]
fn incast() {
    let senders = (1..9).map(HostId).collect();
    let job = Job::Incast(Incast { senders, receiver: HostId(0), bytes: 1_000_000, rounds: 3 });
    assert_eq!(compare(&job, 9).len(), 24);
}

#[test]
fn all_to_all() {
    let job = Job::AllToAll(AllToAll {
        hosts: (0..6).map(HostId).collect(),
        bytes: 300_000,
        parallel: 2,
        order: Order::Rotated,
        skew: Time::ZERO,
    });
    assert_eq!(compare(&job, 6).len(), 30);
}

#[test]
fn a_replay_opens_flows_at_their_times() {
    let flow = |ms, from, to| Flow {
        at: Time::from_ms(ms),
        from: HostId(from),
        to: HostId(to),
        bytes: 1000 * ms,
        group: ms,
    };
    let flows = [flow(5, 0, 1), flow(30, 1, 0), flow(60, 0, 1)].into_iter().collect();
    let job = Job::Replay(Replay { flows });
    let reports = live(processes(&job, 2), &Settings::default());
    for row in reports.iter().flat_map(|report| &report.flows) {
        let start = Time::from_ps(row.start_ps);
        let due = Time::from_ms(row.group);
        assert!(start >= due && start < due + Time::from_secs(60), "{row:?}");
        assert!(row.end_ps > Some(row.start_ps) && row.srtt_ps > Some(0) && row.sent_packets > 0);
    }
    assert_eq!(compare(&job, 2).len(), 3);
}
