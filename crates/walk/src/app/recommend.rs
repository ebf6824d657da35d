//! Recommendations by walks from what a person likes, on a graph of people and things: what is reached from several of
//! the liked things counts more than what is reached from one as often (the multi-hit booster, (Σ √visits)²). What the
//! person has already is left out.
//!
//! C. Eksombatchai et al., "Pixie: a system for recommending 3+ billion items to 200+ million users in real-time", WWW
//! 2018, sections 3.1 and 3.2 (equation 3). Pixie's early stopping and its bias by language are not here.

use super::Tally;

/// The `k` best among the nodes that walks from `liked` visited and that `offered` lets through. `visits` counts visits
/// by start.
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
