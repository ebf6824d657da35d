//! A graph that changed is the graph that is built from the arcs that are left, whatever the changes were.

use std::collections::BTreeMap;

use proptest::prelude::*;
use walk::graph::{Change, Graph, GraphError, Shape};

const NODES: u32 = 12;

fn changes(weighted: bool) -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change =
        (0..NODES, 0..NODES, prop::option::weighted(0.6, 0.1f32..9.0)).prop_map(move |(from, to, weight)| {
            match weight {
                Some(weight) => Change::Set { from, to, weight: weighted.then_some(weight) },
                None => Change::Remove { from, to },
            }
        });
    prop::collection::vec(prop::collection::vec(change, 0..20), 0..25)
}

/// The arcs after each batch, kept in the simplest way.
fn follow(arcs: &mut BTreeMap<(u32, u32), f32>, batch: &[Change], directed: bool) {
    for &change in batch {
        match change {
            Change::Set { from, to, weight } => {
                arcs.insert((from, to), weight.unwrap_or(1.0));
                if !directed {
                    arcs.insert((to, from), weight.unwrap_or(1.0));
                }
            }
            Change::Remove { from, to } => {
                arcs.remove(&(from, to));
                if !directed {
                    arcs.remove(&(to, from));
                }
            }
        }
    }
}

fn same(graph: &Graph, arcs: &BTreeMap<(u32, u32), f32>) {
    let mut found = Vec::new();
    for node in 0..graph.nodes() {
        let row = graph.neighbours(node).zip(graph.weights(node));
        found.extend(row.map(|(to, weight)| ((node, to), weight)));
    }
    assert_eq!(found, arcs.iter().map(|(&ends, &weight)| (ends, weight)).collect::<Vec<_>>());
    assert_eq!(graph.arcs(), arcs.len() as u64);
}

fn run(weighted: bool, directed: bool, batches: &[Vec<Change>]) {
    let shape = Shape { directed, ..Shape::undirected(NODES) };
    let mut arcs = BTreeMap::new();
    let mut graph = if weighted {
        Graph::with_weights(shape, || [(0, 1, 2.0)]).unwrap()
    } else {
        Graph::even(shape, || [(0, 1)]).unwrap()
    };
    let weight = weighted.then_some(2.0);
    follow(&mut arcs, &[Change::Set { from: 0, to: 1, weight }], directed);
    for batch in batches {
        let before = arcs.len() as u64;
        let applied = graph.apply(batch).unwrap();
        follow(&mut arcs, batch, directed);
        assert_eq!(before + applied.added - applied.removed, arcs.len() as u64);
        same(&graph, &arcs);
    }
    // What walks see is the same too: every draw chooses as in a graph that never changed.
    let fresh = if weighted {
        let all = || arcs.iter().map(|(&(from, to), &weight)| (from, to, weight));
        Graph::with_weights(Shape::directed(NODES), all).unwrap()
    } else {
        Graph::even(Shape::directed(NODES), || arcs.keys().copied()).unwrap()
    };
    for node in 0..NODES {
        for draw in 0..64u64 {
            let random = draw.wrapping_mul(0x0405_0607_0809_0a0b);
            assert_eq!(graph.pick(node, random), fresh.pick(node, random));
        }
    }
}

proptest! {
    #[test]
    fn batches_leave_what_a_new_graph_has(batches in changes(false), directed: bool) {
        run(false, directed, &batches);
    }

    #[test]
    fn batches_with_weights_leave_what_a_new_graph_has(batches in changes(true), directed: bool) {
        run(true, directed, &batches);
    }
}

#[test]
fn a_batch_with_a_bad_change_changes_nothing() {
    let mut graph = Graph::even(Shape::undirected(3), || [(0, 1)]).unwrap();
    let before = graph.clone();
    let good = Change::Set { from: 1, to: 2, weight: None };
    let outside = Change::Remove { from: 1, to: 3 };
    assert_eq!(graph.apply(&[good, outside]), Err(GraphError::Node { arc: 1, node: 3, nodes: 3 }));
    let heavy = Change::Set { from: 1, to: 2, weight: Some(1.0) };
    assert_eq!(graph.apply(&[good, heavy]), Err(GraphError::Kind { arc: 1, weighted: false }));
    assert_eq!(graph, before);
}

#[test]
fn nodes_can_be_added_and_reached() {
    let mut graph = Graph::even(Shape::undirected(2), || [(0, 1)]).unwrap();
    graph.add_nodes(2);
    graph.apply(&[Change::Set { from: 3, to: 0, weight: None }]).unwrap();
    assert_eq!(graph.neighbours(0).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(graph.degree(2), 0);
}

/// Rows that grow one arc at a time leave their old places behind; the memory stays within twice what is
/// used.
#[test]
fn rows_that_grow_do_not_fill_the_memory() {
    let nodes = 2000;
    let mut graph = Graph::even(Shape::directed(nodes), || (1..nodes).map(|to| (0, to % 7))).unwrap();
    for to in 0..nodes {
        graph.apply(&[Change::Set { from: to % 3, to, weight: None }]).unwrap();
        assert!(
            graph.bytes() < 8 * nodes as usize + 12 * graph.arcs() as usize + 4096,
            "{} arcs",
            graph.arcs()
        );
    }
}
