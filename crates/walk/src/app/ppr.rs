//! Personalised PageRank by end points: of the walks from a node that stop before each step with probability
//! 1 - d, the share that ends at another is that other's PageRank with damping factor d. The error of a share
//! s of n walks is about sqrt(s (1 - s) / n).
//!
//! D. Fogaras, B. Rácz, K. Csalogány and T. Sarlós, "Towards scaling fully personalized PageRank: algorithms,
//! lower bounds, and experiments", Internet Mathematics 2(3), 2005, section 2. A node without arcs keeps its
//! walkers: with [`crate::step::DeadEnd::Stop`] it is as if it had a loop.

use crate::step::Walk;

use super::Tally;

/// The walk whose ends are PageRank with the damping factor `damping` (usually 0.85).
pub fn walk(damping: f64) -> Walk {
    Walk::geometric(1.0 - damping)
}

/// The PageRank of the nodes where walks from `start` ended, by node; they sum to 1.
pub fn scores(ends: &mut Tally, start: u32) -> Vec<(u32, f64)> {
    let counts: Vec<(u32, u64)> = ends.of(start).collect();
    let walks = counts.iter().map(|&(_, count)| count).sum::<u64>() as f64;
    counts.into_iter().map(|(node, count)| (node, count as f64 / walks)).collect()
}
