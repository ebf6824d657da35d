//! SimRank by walks: how alike two nodes are is the mean of c^τ over pairs of walks against the arcs'
//! direction, where τ is the step at which the two first meet. On an undirected graph the direction does not
//! matter; a directed one is turned around first ([`crate::graph::Graph::reversed`]).
//!
//! G. Jeh and J. Widom, "SimRank: a measure of structural-context similarity", KDD 2002, section 4.4 (the
//! surfer pairs); D. Fogaras and B. Rácz, "Scaling link-based similarity search", WWW 2005 (by Monte Carlo,
//! walk i with walk i).

/// Jeh and Widom's decay c.
pub const DECAY: f64 = 0.8;

/// How alike two different nodes are, from their walks in the order of their numbers.
pub fn similarity<'a>(
    one: impl IntoIterator<Item = &'a [u32]>,
    other: impl IntoIterator<Item = &'a [u32]>,
    decay: f64,
) -> f64 {
    let (mut sum, mut walks) = (0.0, 0u64);
    for (first, second) in one.into_iter().zip(other) {
        let meeting = first.iter().zip(second).position(|(node, met)| node == met);
        sum += meeting.map_or(0.0, |step| libm::pow(decay, step as f64));
        walks += 1;
    }
    if walks == 0 { 0.0 } else { sum / walks as f64 }
}

/// Walks of many nodes, to compare each with all.
#[derive(Clone, Debug, Default)]
pub struct Fingerprints {
    paths: Vec<(u32, Vec<Box<[u32]>>)>,
}

impl Fingerprints {
    /// Adds a walk; the walks of a node come in the order of their numbers, one after another.
    pub fn add(&mut self, path: &[u32]) {
        let Some(&start) = path.first() else { return };
        if self.paths.last().is_none_or(|(last, _)| *last != start) {
            self.paths.push((start, Vec::new()));
        }
        if let Some((_, paths)) = self.paths.last_mut() {
            paths.push(path.into());
        }
    }

    /// The `k` nodes most like `node` that are alike at all, with their similarity.
    pub fn top(&self, node: u32, k: usize, decay: f64) -> Vec<(u32, f64)> {
        let Some((_, own)) = self.paths.iter().find(|(start, _)| *start == node) else { return Vec::new() };
        let others = self.paths.iter().filter(|(start, _)| *start != node);
        let scores = others.map(|(start, paths)| (*start, similarity(slices(own), slices(paths), decay)));
        super::top(scores.filter(|&(_, score)| score > 0.0), k)
    }
}

fn slices(paths: &[Box<[u32]>]) -> impl Iterator<Item = &[u32]> {
    paths.iter().map(|path| &**path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_count_by_where_they_first_meet() {
        let one = [&[0, 2, 3][..], &[0, 4, 5], &[0, 6, 7], &[0]];
        let other = [&[1, 2, 3][..], &[1, 2, 5], &[1, 2, 3], &[1, 2, 3]];
        assert_eq!(similarity(one, other, 0.5), (0.5 + 0.25) / 4.0);
    }

    #[test]
    fn the_most_alike_come_first() {
        let mut all = Fingerprints::default();
        for path in [[0, 5, 6], [1, 5, 6], [2, 7, 6], [3, 8, 9]] {
            all.add(&path);
        }
        assert_eq!(all.top(0, 5, 0.5), [(1, 0.5), (2, 0.25)]);
        assert!(all.top(9, 5, 0.5).is_empty());
    }
}
