//! The cheapest tree of directed arcs from a root to all nodes (Chu and Liu 1965, Edmonds 1967). Each node
//! takes its cheapest incoming arc; a circle becomes one node, whose arcs cost what they add to the circle.

/// `costs[from][to]` between all, from root 0: the parent of each node. The root's own is meaningless, as are
/// costs of a node to itself. Each node must be reachable from the root.
pub fn cheapest(costs: &[Vec<f64>]) -> Vec<usize> {
    let nodes = costs.len();
    let nearest = |to: usize| {
        let others = (0..nodes).filter(|&from| from != to);
        others.min_by(|&one, &other| costs[one][to].total_cmp(&costs[other][to])).unwrap_or(0)
    };
    let mut parents: Vec<usize> = (0..nodes).map(nearest).collect();
    let Some(circle) = circle(&parents) else { return parents };

    let outer: Vec<usize> = (0..nodes).filter(|node| !circle.contains(node)).collect();
    let added = |from: usize, to: usize| costs[from][to] - costs[parents[to]][to];
    let by = |cost: &dyn Fn(usize) -> f64| {
        circle.iter().copied().min_by(|&one, &other| cost(one).total_cmp(&cost(other))).expect("a circle")
    };
    // Where arcs enter and leave the circle.
    let enter: Vec<usize> = outer.iter().map(|&from| by(&|to| added(from, to))).collect();
    let leave: Vec<usize> = outer.iter().map(|&to| by(&|from| costs[from][to])).collect();
    let mut inner: Vec<Vec<f64>> = outer
        .iter()
        .zip(&enter)
        .map(|(&from, &entry)| outer.iter().map(|&to| costs[from][to]).chain([added(from, entry)]).collect())
        .collect();
    inner.push(outer.iter().zip(&leave).map(|(&to, &from)| costs[from][to]).chain([0.0]).collect());

    let found = cheapest(&inner);
    let whole = outer.len();
    for (at, &node) in outer.iter().enumerate() {
        parents[node] = if found[at] == whole { leave[at] } else { outer[found[at]] };
    }
    parents[enter[found[whole]]] = outer[found[whole]];
    parents
}

/// Nodes that are each other's ancestors, if there are any.
fn circle(parents: &[usize]) -> Option<Vec<usize>> {
    let mut seen = vec![0; parents.len()];
    for start in 1..parents.len() {
        let mut at = start;
        while at != 0 && seen[at] == 0 {
            seen[at] = start;
            at = parents[at];
        }
        if at != 0 && seen[at] == start {
            let mut circle = vec![at];
            let mut next = parents[at];
            while next != at {
                circle.push(next);
                next = parents[next];
            }
            return Some(circle);
        }
    }
    None
}

/// All nodes but the root, parents before children.
pub(crate) fn outwards(parents: &[usize]) -> Vec<usize> {
    let mut children = vec![Vec::new(); parents.len()];
    (1..parents.len()).for_each(|node| children[parents[node]].push(node));
    let mut order = children[0].clone();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        order.extend_from_slice(&children[node]);
        at += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cost(costs: &[Vec<f64>], parents: &[usize]) -> f64 {
        (1..parents.len()).map(|to| costs[parents[to]][to]).sum()
    }

    /// By trying all.
    fn least(costs: &[Vec<f64>]) -> f64 {
        let nodes = costs.len();
        let mut best = f64::INFINITY;
        for code in 0..nodes.pow(nodes as u32 - 1) {
            let mut parents = vec![0; nodes];
            (1..nodes).fold(code, |rest, node| {
                parents[node] = rest % nodes;
                rest / nodes
            });
            if outwards(&parents).len() == nodes - 1 {
                best = best.min(cost(costs, &parents));
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_arborescence_is_cheaper(nodes in 1..6usize, draws in proptest::collection::vec(0..9u32, 36)) {
            let costs: Vec<Vec<f64>> =
                (0..nodes).map(|from| (0..nodes).map(|to| f64::from(draws[6 * from + to])).collect()).collect();
            let parents = cheapest(&costs);
            prop_assert_eq!(outwards(&parents).len(), nodes - 1);
            prop_assert_eq!(cost(&costs, &parents), least(&costs));
        }
    }
}
