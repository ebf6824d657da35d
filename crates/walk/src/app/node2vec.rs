//! What node2vec learns from: the pairs of a node and those within a window around it on a walk. The learning
//! itself (skip-gram) is left to libraries.
//!
//! A. Grover and J. Leskovec, "node2vec: scalable feature learning for networks", KDD 2016, sections 3 and 4:
//! r = 10 walks a node, l = 80 nodes, k = 10 nodes on each side.

use crate::step::Walk;

/// Walks from each node in the paper.
pub const WALKS: u32 = 10;
/// Nodes on each side of a node in the paper.
pub const WINDOW: usize = 10;

/// The paper's walk: 80 nodes, so 79 steps.
pub fn walk(p: f64, q: f64) -> Walk {
    Walk::node2vec(79, p, q)
}

/// Each node of a walk with each other that is at most `window` places away.
pub fn pairs(path: &[u32], window: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
    path.iter().enumerate().flat_map(move |(at, &node)| {
        let range = at.saturating_sub(window)..path.len().min(at.saturating_add(window).saturating_add(1));
        range.filter(move |&other| other != at).map(move |other| (node, path[other]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_lie_within_the_window() {
        let found: Vec<_> = pairs(&[5, 6, 7], 1).collect();
        assert_eq!(found, [(5, 6), (6, 5), (6, 7), (7, 6)]);
        assert_eq!(pairs(&[1, 2, 3, 4], usize::MAX).count(), 12);
        assert_eq!(pairs(&[1], 3).count(), 0);
    }
}
