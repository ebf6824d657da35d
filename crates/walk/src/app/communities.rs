//! Communities by personalised PageRank: the nodes around a seed in the order of PageRank over degree, cut
//! where the fewest arcs lead out for the arcs inside (the smallest conductance).
//!
//! R. Andersen, F. Chung and K. Lang, "Local graph partitioning using PageRank vectors", FOCS 2006, section 2
//! (the sweep). For undirected graphs. All nodes get a community by sweeping again and again from the node of
//! the largest degree that has none, over nodes that have none: our own addition.

use crate::graph::Graph;

/// A set of nodes that hold together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Community {
    /// Its nodes, by PageRank over degree.
    pub nodes: Vec<u32>,
    /// Arcs that lead out over the arcs of the smaller side: 0 is a part of its own, 1 holds together by
    /// nothing.
    pub conductance: f64,
}

/// The best cut of the nodes that have a score, of which `free` may be taken.
pub fn sweep(graph: &Graph, scores: &[(u32, f64)], free: impl Fn(u32) -> bool) -> Community {
    let share = |&(node, score): &(u32, f64)| (node, score / f64::from(graph.degree(node)));
    let joined = scores.iter().filter(|(node, _)| graph.degree(*node) > 0 && free(*node));
    let order = super::top(joined.map(share), usize::MAX);
    let mut inside = std::collections::BTreeSet::new();
    let (mut volume, mut cut) = (0u64, 0u64);
    let mut best = (f64::INFINITY, 0);
    for (at, &(node, _)) in order.iter().enumerate() {
        let within = graph.neighbours(node).filter(|to| inside.contains(to)).count() as u64;
        let loops = u64::from(graph.has_arc(node, node));
        volume += u64::from(graph.degree(node));
        // Arcs to nodes inside were cut until now.
        cut = cut + u64::from(graph.degree(node)) - loops - 2 * within;
        inside.insert(node);
        let smaller = volume.min(graph.arcs() - volume);
        let conductance =
            if smaller == 0 { f64::from(u8::from(cut > 0)) } else { cut as f64 / smaller as f64 };
        // The whole graph cuts nothing and says nothing; it is taken only where nothing else is.
        let whole = smaller == 0 && at > 0;
        if conductance < best.0 && !(whole && best.1 > 0) {
            best = (conductance, at + 1);
        }
    }
    let nodes = order[..best.1].iter().map(|&(node, _)| node).collect();
    Community { nodes, conductance: if best.1 == 0 { 1.0 } else { best.0 } }
}

/// The label of a node that has no community.
pub const NONE: u32 = u32::MAX;

/// A community for each node: `scores` gives the PageRank around a seed. Nodes without arcs are communities
/// of one. Where nobody has walked, `scores` gives nothing, and a node that is in no other community has
/// none.
pub fn all(graph: &Graph, mut scores: impl FnMut(u32) -> Option<Vec<(u32, f64)>>) -> Vec<u32> {
    let mut labels = vec![NONE; graph.nodes() as usize];
    let mut seeds: Vec<u32> = (0..graph.nodes()).collect();
    seeds.sort_by_key(|&node| std::cmp::Reverse(graph.degree(node)));
    let mut label = 0;
    for seed in seeds {
        if labels[seed as usize] != NONE {
            continue;
        }
        let Some(scores) = scores(seed) else { continue };
        let found = sweep(graph, &scores, |node| labels[node as usize] == NONE);
        labels[seed as usize] = label;
        found.nodes.iter().for_each(|&node| labels[node as usize] = label);
        label += 1;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{Tally, ppr};
    use crate::graph::{Sbm, Shape};
    use crate::step::{Engine, Rule, Starts};

    #[test]
    fn two_triangles_and_a_bridge_are_cut_at_the_bridge() {
        let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
        let graph = Graph::even(Shape::undirected(6), || edges).unwrap();
        let scores: Vec<(u32, f64)> =
            [0.4, 0.3, 0.2, 0.1, 0.0, 0.0].into_iter().zip(0..).map(|(s, n)| (n, s)).collect();
        let found = sweep(&graph, &scores, |_| true);
        assert_eq!((found.nodes, found.conductance), (vec![0, 1, 2], 1.0 / 7.0));
    }

    #[test]
    fn the_blocks_of_a_stochastic_block_model_are_found() {
        let graph = Sbm { sizes: vec![40; 3], inside: 0.4, between: 0.01 }.graph(2).unwrap().unwrap();
        let engine = Engine::new(&graph, Rule::new(&ppr::walk(0.85)).unwrap(), 1);
        let mut tally = Tally::default();
        engine
            .ends(&Starts::all(120, 2000), |block| {
                block.starts.iter().zip(&block.ends).for_each(|(&start, &end)| tally.add(start, end));
            })
            .unwrap();
        let labels = all(&graph, |seed| Some(ppr::scores(&mut tally, seed)));
        let some = all(&graph, |seed| (seed < 40).then(|| ppr::scores(&mut tally, seed)));
        assert!(some[..40].iter().all(|&label| label != NONE));
        assert!(some[40..].iter().filter(|&&label| label == NONE).count() >= 76, "{some:?}");
        for block in labels.chunks(40) {
            let most = (0..120).map(|label| block.iter().filter(|&&one| one == label).count()).max().unwrap();
            assert!(most >= 38, "{block:?}");
        }
        assert!(labels[0] != labels[40] && labels[40] != labels[80] && labels[0] != labels[80]);
    }
}
