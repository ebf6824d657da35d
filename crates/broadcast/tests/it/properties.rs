//! What document 003 proves of the stable algorithm on trees (slides 12, 13 and 24), and what holds of all
//! plans.

use crate::support::{self, Maker, Rates};
use broadcast::algorithm::{Algorithm, plan};
use broadcast::plan::Plan;
use broadcast::topology::{LinkId, NodeId, Topology};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use units::Rate;

fn rates() -> impl Strategy<Value = Rates> {
    prop_oneof![Just(Rates::Mixed), Just(Rates::Uniform(100, 1000)), Just(Rates::Uniform(1, 4))]
}

fn symmetric_tree() -> impl Strategy<Value = Topology> {
    (any::<u64>(), rates(), any::<bool>(), 1..8usize, 3..20usize).prop_map(
        |(seed, rates, mixed, switches, hosts)| {
            let maker = Maker::new(seed, rates, true);
            if mixed { maker.mixed_tree(switches + hosts) } else { maker.tree(switches, hosts) }
        },
    )
}

fn any_graph() -> impl Strategy<Value = Topology> {
    (any::<u64>(), rates(), any::<bool>(), 0..6usize, 2..12usize, 0..20usize).prop_map(
        |(seed, rates, symmetric, switches, hosts, more)| {
            Maker::new(seed, rates, symmetric).graph(switches, hosts, more)
        },
    )
}

fn stable(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Plan {
    plan(Algorithm::Stable, topology, source, destinations, 0).expect("a plan")
}

/// On a tree there is one way: its narrowest link.
fn alone(topology: &Topology, source: NodeId) -> Vec<Rate> {
    let mut width = vec![Rate::default(); topology.nodes_len()];
    width[source.index()] = Rate::from_bps(u64::MAX);
    let mut waiting = vec![source];
    while let Some(node) = waiting.pop() {
        for &link in topology.leaving(node) {
            let next = topology.head(link);
            if width[next.index()] == Rate::default() {
                width[next.index()] = width[node.index()].min(topology.capacity(link));
                waiting.push(next);
            }
        }
    }
    width
}

fn no_link_twice(plan: &Plan) -> bool {
    plan.trees().all(|tree| {
        let links: Vec<LinkId> = tree.hops().flat_map(|hop| hop.path.to_vec()).collect();
        links.iter().collect::<BTreeSet<_>>().len() == links.len()
    })
}

fn nested(plan: &Plan) -> bool {
    let sets: Vec<BTreeSet<NodeId>> = plan.trees().map(|tree| tree.members().collect()).collect();
    sets.windows(2).all(|two| two[0].is_superset(&two[1]))
}

proptest! {
    /// Slide 12: everybody gets what it could get alone; and the trees are as the proof has them.
    #[test]
    fn on_symmetric_trees_everybody_gets_the_most(topology in symmetric_tree(), first in any::<Index>()) {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        prop_assume!(hosts.len() > 1);
        let source = hosts[first.index(hosts.len())];
        let others: Vec<NodeId> = hosts.into_iter().filter(|&host| host != source).collect();
        let plan = stable(&topology, source, &others);
        prop_assert_eq!(plan.check(&topology), Ok(()));
        let alone = alone(&topology, source);
        let best: Vec<Rate> = others.iter().map(|node| alone[node.index()]).collect();
        prop_assert_eq!(plan.rates(), best);
        prop_assert!(no_link_twice(&plan));
        prop_assert!(nested(&plan));
    }

    /// Slide 12: nobody's rate is lowered by another node that joins.
    #[test]
    fn on_symmetric_trees_nobody_slows_another(topology in symmetric_tree(), leaver in any::<Index>()) {
        let (source, mut others) = support::everybody(&topology);
        prop_assume!(others.len() > 1);
        let with = stable(&topology, source, &others);
        let index = leaver.index(others.len());
        others.remove(index);
        let without = stable(&topology, source, &others);
        for (&node, rate) in others.iter().zip(without.rates()) {
            prop_assert_eq!(with.rate(node), rate);
        }
    }

    /// Slide 24: at least FPFR's aggregate on any topology.
    #[test]
    fn stable_is_never_behind_fpfr(topology in any_graph()) {
        let (source, others) = support::everybody(&topology);
        let fpfr = plan(Algorithm::Fpfr, &topology, source, &others, 0).expect("a plan");
        prop_assert!(stable(&topology, source, &others).aggregate() >= fpfr.aggregate());
    }

    /// No link above its capacity, each host at most once a tree, everybody served.
    #[test]
    fn every_plan_can_be_run(topology in any_graph(), seed in any::<u64>()) {
        let (source, others) = support::everybody(&topology);
        for algorithm in Algorithm::ALL {
            let plan = plan(algorithm, &topology, source, &others, seed).expect("a plan");
            prop_assert_eq!(plan.check(&topology), Ok(()), "{}", algorithm);
            prop_assert_eq!(plan.algorithm.as_str(), algorithm.name());
            let rates = plan.rates();
            let sum: u64 = rates.iter().map(|rate| rate.as_bps()).sum();
            prop_assert_eq!(plan.aggregate(), Rate::from_bps(sum));
            prop_assert!(rates.iter().all(|&rate| rate > Rate::default()), "{} {:?}", algorithm, rates);
        }
    }
}
