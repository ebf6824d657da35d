//! R-MAT: each arc falls into one quarter of the adjacency matrix, then into a quarter of that, down to one
//! entry.
//!
//! D. Chakrabarti, Y. Zhan and C. Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004. The
//! quarters' default probabilities are those of Graph500 (.57, .19, .19, .05).

use crate::graph::{Graph, GraphError, Shape};
use crate::step::Stream;

/// An R-MAT graph; edges that come twice are one and loops are left out, so it has fewer than are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rmat {
    /// Nodes: 2 to the power of this, at most 31.
    pub scale: u32,
    /// Edges that are drawn.
    pub edges: u64,
    /// The probabilities of the upper left, upper right and lower left quarter; the last gets the rest.
    pub quarters: [f64; 3],
    /// Whether an arc goes one way only.
    pub directed: bool,
}

impl Rmat {
    /// Graph500's quarters, undirected.
    pub fn new(scale: u32, edges: u64) -> Self {
        Self { scale, edges, quarters: [0.57, 0.19, 0.19], directed: false }
    }

    /// The graph that `seed` gives; none when the scale or the probabilities are impossible.
    pub fn graph(&self, seed: u64) -> Option<Result<Graph, GraphError>> {
        let shares = self.quarters.iter().all(|share| (0.0..=1.0).contains(share));
        let possible = self.scale <= 31 && shares && self.quarters.iter().sum::<f64>() <= 1.0;
        let nodes = 1 << self.scale.min(31);
        let shape = Shape { nodes, targets: nodes, directed: self.directed };
        possible.then(|| Graph::even(shape, || self.arcs(seed)))
    }

    /// The edges as they are drawn, loops left out.
    pub fn arcs(&self, seed: u64) -> impl Iterator<Item = (u32, u32)> {
        let Self { scale, edges, quarters: [a, b, c], .. } = *self;
        // A level takes 16 bits of a draw, so that four levels share one.
        let limits = [a, a + b, a + b + c].map(|sum| (sum * 65536.0) as u64);
        (0..edges).filter_map(move |edge| {
            let mut stream = Stream::of(seed, (edge >> 32) as u32, edge as u32);
            let (mut from, mut to, mut bits) = (0, 0, 0);
            for level in 0..scale {
                bits = if level % 4 == 0 { stream.next() } else { bits >> 16 };
                let quarter = limits.iter().filter(|&&limit| bits & 0xffff >= limit).count() as u32;
                (from, to) = (from << 1 | quarter >> 1, to << 1 | quarter & 1);
            }
            (from != to).then_some((from, to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_have_their_shares() {
        let rmat = Rmat { quarters: [0.5, 0.25, 0.125], ..Rmat::new(10, 100_000) };
        let mut counts = [0.0f64; 4];
        let mut arcs = 0.0f64;
        for (from, to) in rmat.arcs(3) {
            counts[(from >> 9 << 1 | to >> 9) as usize] += 1.0;
            arcs += 1.0;
        }
        // Loops lie in the first and the last quarter only; they are few.
        for (count, share) in counts.iter().zip([0.5, 0.25, 0.125, 0.125]) {
            assert!((count / arcs - share).abs() < 0.01, "{counts:?}");
        }
    }

    #[test]
    fn what_is_impossible_is_refused() {
        assert!(Rmat::new(32, 1).graph(1).is_none());
        assert!(Rmat { quarters: [0.9, 0.2, 0.0], ..Rmat::new(3, 1) }.graph(1).is_none());
        assert!(Rmat::new(3, 20).graph(1).unwrap().is_ok());
    }
}
