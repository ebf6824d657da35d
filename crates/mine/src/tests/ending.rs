//! How a run ends: each pair of nodes opens one stream and ends it on both sides, however late one of them
//! is.

use super::support::{Cluster, alone, crash, network, shares, transactions};
use crate::begun::Full;
use crate::node::{Costs, Exchange, Settings};
use process::HostId;
use process::testing::Network;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use units::Time;
use units::testing::cases;

const LONG: Time = Time::from_secs(2000);

/// Runs, and says how many streams were opened and how many have not ended.
fn run(nodes: usize, seed: u64, far: Option<[u32; 2]>) -> (usize, usize) {
    let all = transactions(100, 20, seed % 3);
    let settings = Settings { block: 256, ..Settings::new(8, vec![]) };
    let cluster = Cluster::new(settings, Costs::default(), shares(&all, nodes));
    let far = far.map(|[a, b]| (HostId(a), HostId(b), Time::from_secs(3)));
    let mut world = cluster.world_over(Network { far, ..network(seed) }, seed);
    assert!(world.finish(LONG), "{nodes} nodes, {far:?}");
    cluster.assert_found(&alone(&all, 8, None));
    (world.rows.len(), world.ends())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn each_pair_opens_one_stream_and_ends_it(seed in any::<u64>(), nodes in 1usize..=6) {
        prop_assert_eq!(run(nodes, seed, None), (nodes * (nodes - 1) / 2, 0));
    }

    #[test]
    fn who_is_late_does_not_call_those_who_have_finished(seed in any::<u64>(), a in 0u32..4, b in 0u32..3) {
        let b = if b >= a { b + 1 } else { b };
        prop_assert_eq!(run(4, seed, Some([a, b])), (6, 0));
    }
}

#[test]
fn who_comes_back_with_everything_calls_and_ends() {
    let all = transactions(100, 20, 1);
    let settings = Settings { block: 256, ..Settings::new(8, vec![]) };
    let cluster = Cluster::new(settings, Costs::default(), shares(&all, 4));
    assert!(cluster.world(1).finish(LONG));
    // All of them, as after the last pass of an interrupted run; nobody calls twice.
    let mut world = cluster.world(2);
    assert!(world.finish(LONG));
    assert_eq!((world.rows.len(), world.ends()), (6, 0));
    // One of them, whether its disk is lost or not: it is served, and all end again.
    let mut chance = Pcg64::seed_from_u64(1);
    for (host, lost) in [(0, false), (2, false), (3, false), (0, true), (3, true)] {
        if lost {
            cluster.disks[host].0.lock().unwrap().clear();
        }
        crash(&mut world, host, Some(cluster.node(host)), &mut chance);
        let until = world.now + LONG;
        assert!(world.finish(until), "{host}, {lost}");
        assert_eq!(world.ends(), 0, "{host}, {lost}");
    }
    cluster.assert_found(&alone(&all, 8, None));
}

#[test]
fn large_itemsets_that_exceed_the_memory_end_it_without_a_result() {
    // All sets of 12 items: 12 of one item, 66 of two, 220 of three, 495 of four.
    let all = vec![(0..12).collect::<Vec<u32>>(); 40];
    let bytes = |count: usize, length: usize| count * (4 * length + 8);
    // A node takes the others' parts to be as large as its own, which is one itemset larger at most.
    let found = bytes(12, 1) + bytes(66, 2) + bytes(220 + 3, 3);
    let mut settings = Settings { block: 256, ..Settings::new(40, vec![]) };
    settings.derived.found = Some(found);
    for exchange in [Exchange::Frequent, Exchange::Plain] {
        let settings = Settings { exchange, ..settings.clone() };
        let cluster = Cluster::new(settings, Costs::default(), shares(&all, 3));
        assert!(!cluster.world(1).finish(Time::from_secs(20)));
        let full: Vec<_> = cluster.boards.iter().filter_map(|board| board.progress().full).collect();
        assert!(!full.is_empty());
        assert!(full.iter().all(|full| *full == Full { length: 4, before: 12 + 66 + 220 }), "{full:?}");
        assert!(cluster.boards.iter().all(|board| !board.progress().finished));
        let said = cluster.boards.iter().find_map(|board| board.progress().outlook).expect("it was foreseen");
        assert_eq!((said.pass, said.large, said.most), (3, 220, f64::from(4096 - 1 - 12 - 66 - 220)));
    }
}
