//! Every application, three ways, against exact results.

use crate::exact::{after, even, fits, only, page_rank, second_order, sim_rank, transitions, weighted};
use crate::servers::{Path, Way, paths};
use std::collections::BTreeMap;
use walk::app::simrank::{DECAY, Fingerprints};
use walk::app::{Tally, communities, ppr, recommend};
use walk::graph::{Graph, Shape};
use walk::step::Walk;

const WAYS: [Way; 3] = [Way::Memory, Way::Live, Way::Simulated];

/// How often walks from `start` passed each of the places that `of` names.
fn counts(paths: &[Path], start: u32, nodes: u32, of: impl Fn(&Path) -> u32) -> Vec<u64> {
    let mut counts = vec![0; nodes as usize];
    paths.iter().filter(|path| path[0] == start).for_each(|path| counts[of(path) as usize] += 1);
    counts
}

fn end(path: &Path) -> u32 {
    *path.last().unwrap()
}

#[test]
fn ppr_is_personalised_page_rank() {
    let graph = weighted(true);
    for way in WAYS {
        let paths = paths(way, &graph, &ppr::walk(0.85), &[3, 20], 4000);
        fits([3, 20].map(|start| (counts(&paths, start, 45, end), page_rank(&graph, start, 0.85))));
    }
}

#[test]
fn communities_follow_page_rank_and_are_the_blocks() {
    let graph = even(false);
    for way in WAYS {
        let paths = paths(way, &graph, &ppr::walk(0.85), &[7], 6000);
        fits([(counts(&paths, 7, 45, end), page_rank(&graph, 7, 0.85))]);
        let mut tally = Tally::default();
        paths.iter().for_each(|path| tally.add(7, end(path)));
        let found = communities::sweep(&graph, &ppr::scores(&mut tally, 7), |_| true);
        let exact: Vec<(u32, f64)> = (0..).zip(page_rank(&graph, 7, 0.85)).collect();
        let wanted = communities::sweep(&graph, &exact, |_| true);
        assert!((found.conductance - wanted.conductance).abs() < 0.05, "{found:?} {wanted:?}");
    }
}

#[test]
fn recommendations_count_the_visits_that_are_expected() {
    // Five people, and twelve things that they like.
    let likes = (0..5).flat_map(|person| (0..12).map(move |thing| (person, 5 + thing)));
    let likes: Vec<(u32, u32)> = likes.filter(|(person, thing)| (person * 7 + thing * 3) % 4 != 0).collect();
    let graph = Graph::even(Shape::undirected(17), || likes.iter().copied()).unwrap();
    let walks = 8000;
    for way in WAYS {
        let paths = paths(way, &graph, &Walk::geometric(0.15), &[6, 9], walks);
        let mut visits = Tally::default();
        for start in [6, 9] {
            let rank = page_rank(&graph, start, 0.85);
            fits([(counts(&paths, start, 17, end), rank.clone())]);
            let mut seen = [0u64; 17];
            for path in paths.iter().filter(|path| path[0] == start) {
                path.iter().for_each(|&node| seen[node as usize] += 1);
                path[1..].iter().for_each(|&node| visits.add(start, node));
            }
            // Visits of a walk depend on each other: a bound for each node instead of a test of all.
            for (&count, rank) in seen.iter().zip(rank) {
                let expected = rank / 0.15 * f64::from(walks);
                let bound = 5.0 * (3.0 * expected).sqrt() + 1.0;
                assert!((count as f64 - expected).abs() < bound, "{count} of {expected}");
            }
        }
        let best = recommend::recommend(&mut visits, &[6, 9], |node| node >= 5, 3);
        assert!(best.len() == 3 && best[0].1 >= best[2].1);
    }
}

#[test]
fn node2vec_takes_its_second_order_transitions() {
    let graph = even(false);
    let starts: Vec<u32> = (0..45).collect();
    for (p, q) in [(2.0, 0.5), (0.25, 4.0)] {
        for way in WAYS {
            let mut rows: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
            for path in paths(way, &graph, &Walk::node2vec(12, p, q), &starts, 60) {
                assert_eq!(path.len(), 13);
                for three in path.windows(3) {
                    let row = rows.entry((three[0], three[1])).or_insert_with(|| vec![0; 45]);
                    row[three[2] as usize] += 1;
                }
            }
            fits(rows.into_iter().map(|((a, b), row)| (row, second_order(&graph, a, b, p, q))));
        }
    }
}

#[test]
fn a_corpus_has_walks_of_the_chain() {
    let graph = weighted(false);
    let rows = transitions(&graph);
    for way in WAYS {
        let paths = paths(way, &graph, &Walk::fixed(9), &[0, 31], 4000);
        for start in [0, 31] {
            let mut at = only(45, start);
            for step in 0..=9 {
                fits_unless_certain(counts(&paths, start, 45, |path| path[step]), &at);
                at = after(&at, &rows);
            }
        }
    }
}

/// Where a walk begins is certain: that is no test of chance.
fn fits_unless_certain(counts: Vec<u64>, shares: &[f64]) {
    match shares.iter().position(|share| *share == 1.0) {
        Some(node) => assert_eq!(counts[node], counts.iter().sum::<u64>()),
        None => fits([(counts, shares.to_vec())]),
    }
}

#[test]
fn sim_rank_is_the_meeting_of_walks() {
    let (graph, walks, steps) = (even(true), 2000, 8);
    let exact = sim_rank(&graph, DECAY, steps);
    let turned = graph.reversed().unwrap();
    let starts: Vec<u32> = (0..45).collect();
    for way in WAYS {
        let mut prints = Fingerprints::default();
        let paths = paths(way, &turned, &Walk::fixed(steps as u32), &starts, walks);
        paths.iter().for_each(|path| prints.add(path));
        for node in [0, 17, 44] {
            let found: BTreeMap<u32, f64> = prints.top(node, 45, DECAY).into_iter().collect();
            for other in (0..45).filter(|&other| other != node) {
                let score = found.get(&other).copied().unwrap_or(0.0);
                let exact = exact[node as usize][other as usize];
                let bound = 5.0 * (exact / f64::from(walks)).sqrt() + 1e-3;
                assert!((score - exact).abs() < bound, "{way:?} {node}, {other}: {score} is not {exact}");
            }
        }
    }
}
