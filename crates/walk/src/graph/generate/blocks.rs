//! The stochastic block model with a probability for each pair of blocks: document 000, experiment 3, sets
//! three of them apart (A, B and C).

use super::Sbm;
use crate::graph::{Graph, GraphError, Shape};
use crate::step::Stream;
use serde::{Deserialize, Serialize};

/// A stochastic block model. Edges go both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Nodes of each block; their numbers follow one another.
    pub sizes: Vec<u32>,
    /// The probability of an edge between a node of block a and one of block b ≥ a, at `[a][b - a]`.
    pub probabilities: Vec<Vec<f64>>,
}

impl Blocks {
    /// The graph that `seed` gives; none when a probability is outside 0–1 or missing, or the nodes are too
    /// many.
    pub fn graph(&self, seed: u64) -> Option<Result<Graph, GraphError>> {
        let nodes = self.sizes.iter().try_fold(0u32, |sum, &size| sum.checked_add(size))?;
        let blocks = self.sizes.len();
        let complete = self.probabilities.len() == blocks
            && (0..).zip(&self.probabilities).all(|(a, row)| row.len() + a == blocks)
            && self.probabilities.iter().flatten().all(|p| (0.0..=1.0).contains(p));
        complete.then(|| Graph::even(Shape::undirected(nodes), || self.edges(seed)))
    }

    /// Each edge once, in an order that the seed does not change.
    fn edges(&self, seed: u64) -> impl Iterator<Item = (u32, u32)> + '_ {
        let starts: Vec<u32> =
            self.sizes.iter().scan(0, |end, size| Some(std::mem::replace(end, *end + size))).collect();
        let blocks = self.sizes.len();
        let pairs = (0..blocks).flat_map(move |a| (a..blocks).map(move |b| (a, b)));
        pairs.flat_map(move |(a, b)| {
            let seed = Stream::of(seed, a as u32, b as u32).next();
            let (first, second) = (starts[a], starts[b]);
            let (size, p) = (self.sizes[a], self.probabilities[a][b - a]);
            let pair = if a == b {
                Sbm { sizes: vec![size], inside: p, between: 0.0 }
            } else {
                Sbm { sizes: vec![size, self.sizes[b]], inside: 0.0, between: p }
            };
            let place = move |node: u32| if node < size { first + node } else { second + (node - size) };
            let edges: Vec<(u32, u32)> = pair.edges(seed).collect();
            edges.into_iter().map(move |(from, to)| (place(from), place(to)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_blocks_has_its_probability() {
        let probabilities = vec![vec![1.0, 0.0, 0.5], vec![0.0, 1.0], vec![0.2]];
        let graph = Blocks { sizes: vec![10, 20, 200], probabilities }.graph(3).unwrap().unwrap();
        let block = |node: u32| usize::from(node >= 10) + usize::from(node >= 30);
        let mut counts = [[0.0; 3]; 3];
        for node in 0..230 {
            graph.neighbours(node).for_each(|to| counts[block(node)][block(to)] += 1.0);
        }
        assert_eq!((counts[0][0], counts[0][1], counts[1][1], counts[1][2]), (90.0, 0.0, 0.0, 4000.0));
        // Five standard deviations: of 2000 pairs at 0.5, and of 19,900 pairs at 0.2, counted twice.
        assert!((counts[0][2] - 1000.0f64).abs() < 5.0 * 500f64.sqrt(), "{}", counts[0][2]);
        assert!((counts[2][2] / 2.0 - 3980.0f64).abs() < 5.0 * 3184f64.sqrt(), "{}", counts[2][2]);
    }

    #[test]
    fn what_is_missing_or_no_probability_is_refused() {
        let with = |probabilities| Blocks { sizes: vec![1, 1], probabilities }.graph(1).is_none();
        assert!(with(vec![vec![0.1], vec![0.1]]) && with(vec![vec![0.1, 2.0], vec![0.1]]) && with(vec![]));
    }
}
