//! The stochastic block model as document 000 uses it: partitions, nodes, the probability of an edge inside a
//! partition and between two.
//!
//! P. W. Holland, K. B. Laskey and S. Leinhardt, "Stochastic blockmodels: first steps", Social Networks 5(2),
//! 1983. Pairs without an edge are skipped in one draw: V. Batagelj and U. Brandes, "Efficient generation of
//! large random networks", Phys. Rev. E 71, 2005.

use crate::graph::{Graph, GraphError, Shape};
use crate::step::Stream;

/// An undirected stochastic block model without loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Sbm {
    /// Nodes of each partition; their numbers follow one another.
    pub sizes: Vec<u32>,
    /// The probability of an edge between two nodes of a partition.
    pub inside: f64,
    /// The probability of an edge between nodes of different partitions.
    pub between: f64,
}

impl Sbm {
    /// The document's graph: three partitions of 100 nodes. It does not say the probabilities.
    pub fn document(inside: f64, between: f64) -> Self {
        Self { sizes: vec![100; 3], inside, between }
    }

    /// Nodes in all; none when they are more than 32 bits can number.
    pub fn nodes(&self) -> Option<u32> {
        self.sizes.iter().try_fold(0u32, |sum, &size| sum.checked_add(size))
    }

    /// The graph that `seed` gives; none when a probability is outside 0–1 or the nodes are too many.
    pub fn graph(&self, seed: u64) -> Option<Result<Graph, GraphError>> {
        let nodes = self.nodes()?;
        let probabilities = [self.inside, self.between];
        probabilities
            .iter()
            .all(|p| (0.0..=1.0).contains(p))
            .then(|| Graph::even(Shape::undirected(nodes), || self.edges(seed)))
    }

    /// Each edge once, in an order that the seed does not change.
    pub fn edges(&self, seed: u64) -> impl Iterator<Item = (u32, u32)> + '_ {
        let starts = self.sizes.iter().scan(0u32, |end, &size| {
            *end += size;
            Some((*end - size, size))
        });
        let blocks: Vec<(u32, u32)> = starts.collect();
        let count = blocks.len();
        (0..count).flat_map(move |a| (a..count).map(move |b| (a, b))).flat_map(move |(a, b)| {
            let stream = Stream::of(seed, a as u32, b as u32);
            let ((first, rows), (second, columns)) = (blocks[a], blocks[b]);
            let probability = if a == b { self.inside } else { self.between };
            let pairs = u64::from(rows) * u64::from(columns);
            Skips { stream, probability, next: 0, pairs }
                .map(move |pair| {
                    (first + (pair / u64::from(columns)) as u32, second + (pair % u64::from(columns)) as u32)
                })
                .filter(|&(from, to)| from < to)
        })
    }
}

/// The numbers below `pairs` that a coin of the probability chooses.
struct Skips {
    stream: Stream,
    probability: f64,
    next: u64,
    pairs: u64,
}

impl Iterator for Skips {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.probability <= 0.0 {
            return None;
        }
        if self.probability < 1.0 {
            let skip = libm::log(self.stream.unit()) / libm::log1p(-self.probability);
            // More than any graph has pairs: a conversion from float saturates.
            self.next = self.next.saturating_add(skip as u64);
        }
        let chosen = self.next;
        self.next = chosen.saturating_add(1);
        (chosen < self.pairs).then_some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_as_many_as_the_probabilities_say() {
        let graph = Sbm { sizes: vec![200, 400, 300], inside: 0.2, between: 0.03 }.graph(7).unwrap().unwrap();
        let block = |node: u32| (node >= 200) as u32 + (node >= 600) as u32;
        let mut counts = [0.0; 2];
        for node in 0..graph.nodes() {
            for to in graph.neighbours(node) {
                assert_ne!(node, to);
                counts[(block(node) != block(to)) as usize] += 1.0;
            }
        }
        let inside: f64 = [200.0, 400.0, 300.0].iter().map(|size| size * (size - 1.0)).sum();
        let between = 900.0 * 900.0 - [200.0f64, 400.0, 300.0].iter().map(|size| size * size).sum::<f64>();
        for (count, pairs, p) in [(counts[0], inside, 0.2), (counts[1], between, 0.03)] {
            // Five standard deviations; each edge counts twice.
            let deviation = 2.0 * (pairs / 2.0 * p * (1.0 - p)).sqrt();
            assert!((count - pairs * p).abs() < 5.0 * deviation, "{count} of {}", pairs * p);
        }
    }

    #[test]
    fn probabilities_of_nought_and_one_are_exact() {
        let whole = Sbm { sizes: vec![5, 6], inside: 1.0, between: 0.0 }.graph(1).unwrap().unwrap();
        assert_eq!(whole.arcs(), 5 * 4 + 6 * 5);
        assert!(Sbm::document(1.1, 0.0).graph(1).is_none());
        assert_eq!(Sbm { sizes: vec![u32::MAX, 1], inside: 0.0, between: 0.0 }.nodes(), None);
    }
}
