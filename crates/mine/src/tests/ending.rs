//! How a run ends: each pair of nodes opens one stream and ends it on both sides, however late one of them is.

use super::support::{Cluster, alone, shares, transactions};
use crate::node::{Costs, Settings};
use proptest::prelude::*;
use units::Time;

const LONG: Time = Time::from_secs(2000);

/// Runs, and says how many streams were opened and how many have not ended.
fn run(nodes: usize, seed: u64, far: Option<[usize; 2]>) -> (usize, usize) {
    let all = transactions(100, 20, seed % 3);
    let settings = Settings { block: 256, ..Settings::new(8, vec![]) };
    let cluster = Cluster::new(settings, Costs::default(), shares(&all, nodes));
    let mut world = cluster.world(seed);
    world.far = far;
    assert!(world.run(LONG), "{nodes} nodes, {far:?}");
    cluster.assert_found(&alone(&all, 8, None));
    (world.opened, world.open())
}

proptest! {
    #[test]
    fn each_pair_opens_one_stream_and_ends_it(seed in any::<u64>(), nodes in 1usize..=6) {
        prop_assert_eq!(run(nodes, seed, None), (nodes * (nodes - 1) / 2, 0));
    }

    #[test]
    fn who_is_late_does_not_call_those_who_have_finished(seed in any::<u64>(), a in 0usize..4, b in 0usize..3) {
        let b = if b >= a { b + 1 } else { b };
        prop_assert_eq!(run(4, seed, Some([a, b])), (6, 0));
    }
}

#[test]
fn who_comes_back_with_everything_calls_and_ends() {
    let all = transactions(100, 20, 1);
    let settings = Settings { block: 256, ..Settings::new(8, vec![]) };
    let cluster = Cluster::new(settings, Costs::default(), shares(&all, 4));
    assert!(cluster.world(1).run(LONG));
    // All of them, as after the last pass of an interrupted run; nobody calls twice.
    let mut world = cluster.world(2);
    assert!(world.run(LONG));
    assert_eq!((world.opened, world.open()), (6, 0));
    // One of them, whether its disk is lost or not: it is served, and all end again.
    for (host, lost) in [(0, false), (2, false), (3, false), (0, true), (3, true)] {
        if lost {
            cluster.disks[host].0.lock().unwrap().clear();
        }
        world.crash(host, Some(cluster.node(host)));
        let until = world.now + LONG;
        assert!(world.run(until), "{host}, {lost}");
        assert_eq!(world.open(), 0, "{host}, {lost}");
    }
    cluster.assert_found(&alone(&all, 8, None));
}
