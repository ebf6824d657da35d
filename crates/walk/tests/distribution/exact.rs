//! What the definitions say exactly, and whether counts fit: a chi-square test at five standard deviations.

use walk::graph::{Graph, Sbm, Shape};

/// Counts against probabilities, a row each: those that are expected fewer than five times are taken
/// together.
pub fn fits(rows: impl IntoIterator<Item = (Vec<u64>, Vec<f64>)>) {
    let (mut chi, mut degrees) = (0.0, 0.0);
    for (counts, shares) in rows {
        let total = counts.iter().sum::<u64>() as f64;
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let (mut cells, mut rest) = (0.0, (0.0, 0.0));
        let mut cell = |count: f64, expected: f64| {
            chi += (count - expected) * (count - expected) / expected;
            cells += 1.0;
        };
        for (&count, share) in counts.iter().zip(shares) {
            let expected = share * total;
            assert!(expected > 0.0 || count == 0, "something that can't happen happened {count} times");
            if expected >= 5.0 {
                cell(count as f64, expected);
            } else {
                rest = (rest.0 + count as f64, rest.1 + expected);
            }
        }
        if rest.1 > 1.0 {
            cell(rest.0, rest.1);
        }
        degrees += (cells - 1.0f64).max(0.0);
    }
    assert!(degrees > 0.0);
    let bound = degrees + 5.0 * (2.0 * degrees).sqrt();
    assert!(chi < bound, "chi-square {chi:.1} of {degrees} degrees of freedom");
}

/// The graph's transitions: rows of probabilities. A node without arcs stays where it is.
pub fn transitions(graph: &Graph) -> Vec<Vec<f64>> {
    let row = |node| {
        let mut row = vec![0.0; graph.nodes() as usize];
        let total: f64 = graph.weights(node).map(f64::from).sum();
        for (to, weight) in graph.neighbours(node).zip(graph.weights(node)) {
            row[to as usize] += f64::from(weight) / total;
        }
        if graph.degree(node) == 0 {
            row[node as usize] = 1.0;
        }
        row
    };
    (0..graph.nodes()).map(row).collect()
}

/// A step later.
pub fn after(at: &[f64], transitions: &[Vec<f64>]) -> Vec<f64> {
    let to = |node: usize| at.iter().zip(transitions).map(|(share, row)| share * row[node]).sum();
    (0..at.len()).map(to).collect()
}

/// All at one node.
pub fn only(nodes: u32, node: u32) -> Vec<f64> {
    (0..nodes).map(|other| f64::from(u8::from(other == node))).collect()
}

/// Personalised PageRank by power iteration.
pub fn page_rank(graph: &Graph, start: u32, damping: f64) -> Vec<f64> {
    let (rows, teleport) = (transitions(graph), only(graph.nodes(), start));
    let mut rank = teleport.clone();
    for _ in 0..400 {
        let next = after(&rank, &rows);
        rank = next.iter().zip(&teleport).map(|(one, back)| damping * one + (1.0 - damping) * back).collect();
    }
    rank
}

/// node2vec's probabilities of the next node after `before` and `node`, by its definition.
pub fn second_order(graph: &Graph, before: u32, node: u32, p: f64, q: f64) -> Vec<f64> {
    let mut row = vec![0.0; graph.nodes() as usize];
    for (to, weight) in graph.neighbours(node).zip(graph.weights(node)) {
        let bias = if to == before {
            1.0 / p
        } else if graph.neighbours(to).any(|next| next == before) {
            1.0
        } else {
            1.0 / q
        };
        row[to as usize] = bias * f64::from(weight);
    }
    let total: f64 = row.iter().sum();
    row.iter().map(|share| share / total).collect()
}

/// SimRank by its recursive definition (Jeh and Widom, equation 1), in as many rounds as walks have steps.
pub fn sim_rank(graph: &Graph, decay: f64, rounds: usize) -> Vec<Vec<f64>> {
    let nodes = graph.nodes() as usize;
    let rows = transitions(&graph.reversed().unwrap());
    let alone = |node: usize| graph.reversed().unwrap().degree(node as u32) == 0;
    let alone: Vec<bool> = (0..nodes).map(alone).collect();
    let mut like: Vec<Vec<f64>> = (0..nodes).map(|node| only(nodes as u32, node as u32)).collect();
    for _ in 0..rounds {
        let spread: Vec<Vec<f64>> = rows.iter().map(|row| after(row, &like)).collect();
        let pair = |one: usize, other: usize| {
            if one == other {
                1.0
            } else if alone[one] || alone[other] {
                0.0
            } else {
                decay
                    * spread[one].iter().zip(&rows[other]).map(|(share, weight)| share * weight).sum::<f64>()
            }
        };
        like = (0..nodes).map(|one| (0..nodes).map(|other| pair(one, other)).collect()).collect();
    }
    like
}

/// Three blocks whose edges have weights.
pub fn weighted(directed: bool) -> Graph {
    let sbm = Sbm { sizes: vec![15; 3], inside: 0.3, between: 0.05 };
    let weight = |from: u32, to: u32| 0.25 + (from * 5 + to * 3) as f32 % 7.0;
    let arcs = || sbm.edges(4).map(|(from, to)| (from, to, weight(from, to)));
    Graph::with_weights(Shape { directed, ..Shape::undirected(45) }, arcs).unwrap()
}

/// Three blocks.
pub fn even(directed: bool) -> Graph {
    let sbm = Sbm { sizes: vec![15; 3], inside: 0.3, between: 0.05 };
    Graph::even(Shape { directed, ..Shape::undirected(45) }, || sbm.edges(4)).unwrap()
}
