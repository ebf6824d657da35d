//! Recommendations by walks from what a person likes, on a graph of people and things: what is reached from
//! several of the liked things counts more than what is reached from one as often (the multi-hit booster, (Σ
//! √visits)²). What the person has already is left out.
//!
//! C. Eksombatchai et al., "Pixie: a system for recommending 3+ billion items to 200+ million users in
//! real-time", WWW 2018, sections 3.1 and 3.2 (equation 3). Pixie's early stopping and its bias by language
//! are not here.

use std::collections::VecDeque;

use super::Tally;
use crate::graph::Graph;

/// Which nodes are on the side of the liked ones: all, unless the graph around them has two sides, as one of
/// people and things has. Walks from things pass people, and nobody wants to be recommended these.
pub fn same_side(graph: &Graph, liked: &[u32]) -> Vec<bool> {
    const UNKNOWN: u8 = 2;
    let mut sides = vec![UNKNOWN; graph.nodes() as usize];
    let mut queue = VecDeque::new();
    for &node in liked {
        if let Some(side) = sides.get_mut(node as usize) {
            *side = 0;
            queue.push_back(node);
        }
    }
    while let Some(node) = queue.pop_front() {
        let other = 1 - sides[node as usize];
        for to in graph.neighbours(node) {
            let side = &mut sides[to as usize];
            if *side == UNKNOWN {
                *side = other;
                queue.push_back(to);
            } else if *side != other {
                return vec![true; sides.len()];
            }
        }
    }
    sides.into_iter().map(|side| side == 0).collect()
}

/// The `k` best among the nodes that walks from `liked` visited and that `offered` lets through. `visits`
/// counts visits by start.
pub fn recommend(
    visits: &mut Tally,
    liked: &[u32],
    offered: impl Fn(u32) -> bool,
    k: usize,
) -> Vec<(u32, f64)> {
    let mut roots: Vec<(u32, f64)> = Vec::new();
    for &start in liked {
        let counts = visits.of(start).filter(|&(node, _)| offered(node) && !liked.contains(&node));
        roots.extend(counts.map(|(node, count)| (node, libm::sqrt(count as f64))));
    }
    roots.sort_by_key(|&(node, _)| node);
    let same = roots.chunk_by(|one, next| one.0 == next.0);
    let scores = same.map(|of| {
        let sum: f64 = of.iter().map(|&(_, root)| root).sum();
        (of[0].0, sum * sum)
    });
    super::top(scores, k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Shape;

    #[test]
    fn things_are_on_the_side_of_things() {
        // People 0 and 1, things 2 to 4.
        let edges = [(0, 2), (0, 3), (1, 3), (1, 4)];
        let graph = Graph::even(Shape::undirected(5), || edges).unwrap();
        assert_eq!(same_side(&graph, &[2, 3]), [false, false, true, true, true]);
        // A person and a thing that are liked together, or friends: no sides.
        assert_eq!(same_side(&graph, &[0, 2]), [true; 5]);
        let friends = Graph::even(Shape::undirected(5), || edges.into_iter().chain([(0, 1)])).unwrap();
        assert_eq!(same_side(&friends, &[2]), [true; 5]);
    }

    #[test]
    fn what_several_reach_counts_more() {
        let mut visits = Tally::default();
        for (start, node, times) in [(0, 5, 9), (0, 6, 16), (1, 5, 9), (1, 7, 4), (0, 1, 50), (1, 8, 99)] {
            (0..times).for_each(|_| visits.add(start, node));
        }
        let best = recommend(&mut visits, &[0, 1], |node| node != 8, 2);
        assert_eq!(best, [(5, 36.0), (6, 16.0)]);
    }
}
