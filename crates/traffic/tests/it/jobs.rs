//! Every kind of job of flows, from its parameters to its end.

use crate::support::{empty_world, hosts, rng};
use process::testing::{Row, World};
use process::{CloseReason, HostId};
use proptest::prelude::*;
use traffic::demand::{self, Demands};
use traffic::sizes::WEB_SEARCH;
use traffic::{
    AllToAll, Bulk, Cdf, Coflow, Coflows, Flow, Flows, Incast, Job, Load, Order, Permutation, Replay, build,
};
use units::Time;

const PORT: u16 = 7000;
const HOUR: Time = Time::from_secs(3600);

fn all(n: u32) -> Vec<HostId> {
    (0..n).map(HostId).collect()
}

/// Runs `job` on `n` hosts to its end; every stream must finish and nothing be left.
fn run(job: &Job, n: usize, delay: Time, buffer: u64) -> World {
    let mut world = empty_world(delay, buffer);
    world.add_all(build(job, &hosts(n), &mut rng(1), PORT).expect("a good job"));
    world.run(HOUR);
    assert!(world.finished(), "the job ends");
    assert_eq!(world.ends(), 0, "no stream is left behind");
    assert!(world.rows.iter().all(|row| row.closed == Some(CloseReason::Finished)));
    world
}

/// (from, to, group, bytes), and when it began.
type Key = (HostId, HostId, u64, u64, Time);

fn demanded(demands: &Demands) -> Vec<Key> {
    let flows = demands.iter().flat_map(|(from, packed)| packed.iter().map(|flow| (*from, flow)));
    let mut keys: Vec<Key> = flows.map(|(from, f)| (from, f.to, f.group, f.bytes, f.at)).collect();
    keys.sort();
    keys
}

fn carried(rows: &[Row]) -> Vec<Key> {
    let key = |row: &Row| (row.from, row.to, row.group, row.forth, row.opened);
    let mut keys: Vec<Key> = rows.iter().map(key).collect();
    keys.sort();
    keys
}

#[test]
fn bulk_carries_every_pair() {
    let pairs = vec![(HostId(0), HostId(2)), (HostId(1), HostId(2)), (HostId(2), HostId(2))];
    let job = Job::Bulk(Bulk { pairs: pairs.clone(), bytes: 1_000_000 });
    let world = run(&job, 3, Time::from_us(10), 65_536);
    assert_eq!(carried(&world.rows), demanded(&demand::bulk(&pairs, 1_000_000)));
}

#[test]
fn permutation_sends_and_receives_once_a_host() {
    let world =
        run(&Job::Permutation(Permutation { hosts: all(9), bytes: 5_000 }), 9, Time::from_us(1), 4_096);
    let mut receivers: Vec<_> = world.rows.iter().map(|row| row.to).collect();
    receivers.sort();
    assert_eq!(receivers, all(9));
    assert!(world.rows.iter().all(|row| row.from != row.to && row.forth == 5_000));
}

#[test]
fn all_to_all_keeps_to_its_parallel_flows() {
    for (parallel, order, second) in
        [(1, Order::Rotated, 6), (3, Order::Rotated, 6), (100, Order::Rotated, 6), (2, Order::Same, 0)]
    {
        let job =
            Job::AllToAll(AllToAll { hosts: all(8), bytes: 100_000, parallel, order, skew: Time::ZERO });
        let world = run(&job, 8, Time::from_us(5), 10_000);
        assert_eq!(world.rows.len(), 8 * 7);
        assert_eq!(world.open_max(), parallel.min(7) as usize);
        let first = world.rows.iter().find(|row| row.from == HostId(5)).expect("host 5 sends");
        assert_eq!(first.to, HostId(second), "in {order:?} order");
    }
}

#[test]
fn load_opens_each_flow_at_its_time_with_one_timer() {
    let sizes = Cdf::new(WEB_SEARCH).expect("published");
    let duration = Time::from_ms(100);
    let job = Job::Load(Load { hosts: all(6), sizes: WEB_SEARCH.to_vec(), load: 0.3, duration });
    let world = run(&job, 6, Time::from_us(10), 1 << 20);
    let rate = units::Rate::from_gbps(60);
    let demands = demand::load(&all(6), rate, &sizes, 0.3, duration, &mut rng(1));
    assert!(world.rows.len() > 50);
    assert_eq!(carried(&world.rows), demanded(&demands));
    assert_eq!(world.timers_max(), 1);
}

#[test]
fn replay_takes_flows_in_any_order() {
    let flow = |ms, from, to, bytes, group| Flow {
        at: Time::from_ms(ms),
        from: HostId(from),
        to: HostId(to),
        bytes,
        group,
    };
    let flows = [flow(5, 0, 1, 10, 3), flow(1, 0, 1, 0, 2), flow(5, 1, 0, 99_999, 3), flow(0, 0, 0, 7, 9)];
    let flows = Flows::from_iter(flows);
    let world = run(&Job::Replay(Replay { flows: flows.clone() }), 2, Time::ZERO, 1_000);
    assert_eq!(carried(&world.rows), demanded(&demand::replay(&flows)));
}

#[test]
fn coflows_shuffle_also_within_a_host() {
    let coflow = |id, ms, mappers: &[u32], reducers: &[(u32, u64)]| Coflow {
        id,
        at: Time::from_ms(ms),
        mappers: mappers.iter().map(|host| HostId(*host)).collect(),
        reducers: reducers.iter().map(|(host, bytes)| (HostId(*host), *bytes)).collect(),
    };
    let coflows = vec![coflow(7, 2, &[0, 1, 2], &[(2, 1_000), (3, 2)]), coflow(8, 1, &[3], &[(0, 5)])];
    let world = run(&Job::Coflows(Coflows { coflows: coflows.clone() }), 4, Time::from_us(1), 300);
    assert_eq!(carried(&world.rows), demanded(&demand::coflows(&coflows)));
    let parts: Vec<u64> = world.rows.iter().filter(|row| row.to == HostId(2)).map(|row| row.forth).collect();
    assert_eq!(parts, [334, 333, 333]);
    assert_eq!(world.rows.len(), 3 + 2 + 1, "a part of no bytes is no flow");
}

#[test]
fn incast_asks_again_when_the_last_answer_is_complete() {
    let senders = all(5)[1..].to_vec();
    let job = Job::Incast(Incast { senders: senders.clone(), receiver: HostId(0), bytes: 50_000, rounds: 3 });
    let delay = Time::from_us(10);
    let world = run(&job, 5, delay, 8_000);
    assert_eq!(world.rows.len(), 4 * 3);
    for (round, rows) in (0..).zip(world.rows.chunks(4)) {
        assert_eq!(rows.iter().map(|row| row.to).collect::<Vec<_>>(), senders);
        assert!(rows.iter().all(|row| (row.group, row.forth, row.back) == (round, 0, 50_000)));
        assert!(rows.iter().all(|row| row.opened == rows[0].opened), "all are asked at once");
    }
    assert!(world.rows[4].opened > world.rows[3].opened + delay, "rounds follow one another");
}

proptest! {
    #[test]
    fn bytes_demanded_are_bytes_received(
        flows in proptest::collection::vec((0u64..2_000, 0u32..5, 0u32..5, 0u64..50_000, 0u64..4), 1..60),
        delay_us in 0u64..2_000,
        buffer in 1_000u64..20_000,
    ) {
        let flow = |&(at_us, from, to, bytes, group): &_| Flow {
            at: Time::from_us(at_us), from: HostId(from), to: HostId(to), bytes, group,
        };
        let flows: Flows = flows.iter().map(flow).collect();
        let world = run(&Job::Replay(Replay { flows: flows.clone() }), 5, Time::from_us(delay_us), buffer);
        prop_assert_eq!(carried(&world.rows), demanded(&demand::replay(&flows)));
        prop_assert!(world.timers_max() <= 1);
        prop_assert!(world.rows.windows(2).all(|pair| pair[0].opened <= pair[1].opened));
    }

    #[test]
    fn incast_rounds_are_barriers(n in 2u32..8, bytes in 0u64..30_000, rounds in 1u32..6, delay_us in 0u64..50) {
        let job = Job::Incast(Incast { senders: all(n)[1..].to_vec(), receiver: HostId(0), bytes, rounds });
        let world = run(&job, n as usize, Time::from_us(delay_us), 2_000);
        prop_assert_eq!(world.rows.len() as u32, (n - 1) * rounds);
        prop_assert!(world.rows.iter().all(|row| row.back == bytes));
        prop_assert!(world.rows.windows(2).all(|pair| pair[0].group <= pair[1].group));
    }
}
