//! Walks in memory: PageRank by power iteration, node2vec's transitions and SimRank by brute force.

use crate::exact::{even, fits, only, page_rank, second_order, sim_rank, transitions, weighted};
use std::collections::BTreeMap;

use walk::app::{Tally, ppr, simrank};
use walk::graph::{Change, Graph};
use walk::step::{DeadEnd, Engine, Rule, Starts, Walk};

fn end_counts(graph: &Graph, walk: Walk, start: u32, walks: u32) -> Vec<u64> {
    let mut counts = vec![0; graph.nodes() as usize];
    let engine = Engine::new(graph, Rule::new(&walk).unwrap(), 11);
    let starts = Starts::new(vec![start], walks);
    engine.ends(&starts, |block| block.ends.iter().for_each(|&end| counts[end as usize] += 1)).unwrap();
    counts
}

#[test]
fn ends_of_walks_that_stop_are_personalised_page_rank() {
    for graph in [even(false), even(true), weighted(false), weighted(true)] {
        fits([3, 20].map(|start| {
            (end_counts(&graph, ppr::walk(0.85), start, 40_000), page_rank(&graph, start, 0.85))
        }));
    }
}

#[test]
fn visits_of_walks_that_stop_are_page_rank_too() {
    let graph = even(false);
    let engine = Engine::new(&graph, Rule::new(&ppr::walk(0.85)).unwrap(), 3);
    let walks = 200_000;
    let visits = engine.visits(&Starts::new(vec![7], walks)).unwrap();
    // Visits of a walk depend on each other: a bound for each node instead of a test of all.
    for (&count, rank) in visits.counts.iter().zip(page_rank(&graph, 7, 0.85)) {
        let expected = rank / 0.15 * f64::from(walks);
        assert!(
            (count as f64 - expected).abs() < 5.0 * (3.0 * expected).sqrt() + 1.0,
            "{count} of {expected}"
        );
    }
}

#[test]
fn walks_that_restart_are_where_their_chain_is() {
    for graph in [even(false), weighted(true)] {
        let (start, restart, steps) = (5, 0.2, 6);
        let rows = transitions(&graph);
        // A dead end leads back to the start.
        let back = only(graph.nodes(), start);
        let mut at = back.clone();
        for _ in 0..steps {
            let mut next = vec![0.0; at.len()];
            for (node, share) in at.iter().enumerate() {
                let restart = if graph.degree(node as u32) == 0 { 1.0 } else { restart };
                for (sum, (row, home)) in next.iter_mut().zip(rows[node].iter().zip(&back)) {
                    *sum += share * ((1.0 - restart) * row + restart * home);
                }
            }
            at = next;
        }
        let walk = Walk { restart, dead_end: DeadEnd::Restart, ..Walk::fixed(steps) };
        fits([(end_counts(&graph, walk, start, 60_000), at)]);
    }
}

#[test]
fn second_order_transitions_are_those_of_node2vec() {
    for graph in [even(false), even(true), weighted(false), weighted(true)] {
        for (p, q) in [(2.0, 0.5), (0.25, 4.0), (4.0, 0.25), (0.5, 1.0)] {
            let engine = Engine::new(&graph, Rule::new(&Walk::node2vec(30, p, q)).unwrap(), 5);
            let mut counts: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
            engine
                .paths(&Starts::all(45, 60), |block| {
                    for three in block.iter().flat_map(|path| path.windows(3)) {
                        let row = counts.entry((three[0], three[1])).or_insert_with(|| vec![0; 45]);
                        row[three[2] as usize] += 1;
                    }
                })
                .unwrap();
            fits(
                counts
                    .into_iter()
                    .map(|((before, node), row)| (row, second_order(&graph, before, node, p, q))),
            );
        }
    }
}

#[test]
fn a_graph_that_changed_is_walked_as_it_is_now() {
    let mut graph = even(false);
    let set = |from, to| Change::Set { from, to, weight: None };
    let batch: Vec<Change> = (0..45).map(|node| set(node, node * 7 % 45)).collect();
    graph.apply(&batch).unwrap();
    let gone: Vec<Change> = graph.neighbours(3).take(2).map(|to| Change::Remove { from: 3, to }).collect();
    graph.apply(&gone).unwrap();
    fits([(end_counts(&graph, ppr::walk(0.85), 3, 40_000), page_rank(&graph, 3, 0.85))]);
}

#[test]
fn meetings_of_walks_are_sim_rank() {
    for graph in [even(false), weighted(true)] {
        let (walks, steps) = (4000, 8);
        let exact = sim_rank(&graph, simrank::DECAY, steps);
        let turned = graph.reversed().unwrap();
        let engine = Engine::new(&turned, Rule::new(&Walk::fixed(steps as u32)).unwrap(), 2);
        let mut prints = simrank::Fingerprints::default();
        engine
            .paths(&Starts::all(45, walks), |block| block.iter().for_each(|path| prints.add(path)))
            .unwrap();
        for node in [0, 17, 44] {
            let found: BTreeMap<u32, f64> = prints.top(node, 45, simrank::DECAY).into_iter().collect();
            for other in (0..45).filter(|&other| other != node) {
                let (score, exact) =
                    (found.get(&other).copied().unwrap_or(0.0), exact[node as usize][other as usize]);
                // A score lies between 0 and 1: its variance is at most its mean.
                let bound = 5.0 * (exact / f64::from(walks)).sqrt() + 1e-3;
                assert!((score - exact).abs() < bound, "{node}, {other}: {score} is not {exact}");
            }
        }
    }
}

#[test]
fn scores_of_a_tally_are_shares() {
    let mut tally = Tally::default();
    [4, 4, 5, 4].into_iter().for_each(|end| tally.add(1, end));
    assert_eq!(ppr::scores(&mut tally, 1), [(4, 0.75), (5, 0.25)]);
}
