//! Rows from arcs in bounded memory: the arcs are read twice, first to count them by node, then to place
//! them. Besides the graph nothing is held. Arcs that come twice become one; their weights are added.

use super::alias::{Scratch, Slot};
use super::row::{ARCS_MAX, DEGREE_MAX};
use super::{Arc, Columns, Graph, GraphError, Row, Shape};

impl Graph {
    /// A graph without weights. `arcs` is called twice and gives the same arcs each time.
    pub fn even<I>(shape: Shape, arcs: impl Fn() -> I) -> Result<Self, GraphError>
    where
        I: IntoIterator<Item = (u32, u32)>,
    {
        let (mut rows, total) = count(shape, arcs())?;
        let mut targets = blank(total, 0);
        place(shape, &mut rows, arcs(), |at, (_, to)| targets[at] = to)?;
        let mut end = 0;
        for row in &mut rows {
            targets[row.range()].sort_unstable();
            *row = merge(&mut targets, *row, end, |_, _| ());
            end += row.degree() as usize;
        }
        shrink(&mut targets, end);
        Self::checked(shape, rows, Columns::Even(targets))
    }

    /// A graph whose arcs are chosen by weight. `arcs` is called twice and gives the same arcs each time.
    pub fn with_weights<I>(shape: Shape, arcs: impl Fn() -> I) -> Result<Self, GraphError>
    where
        I: IntoIterator<Item = (u32, u32, f32)>,
    {
        let (mut rows, total) = count(shape, arcs())?;
        // Until the slots are filled, `keep` holds the weight.
        let mut slots = blank(total, Slot::default());
        place(shape, &mut rows, arcs(), |at, (_, to, weight)| {
            slots[at] = Slot { target: to, other: 0, keep: weight.to_bits() };
        })?;
        let mut end = 0;
        for row in &mut rows {
            slots[row.range()].sort_unstable_by_key(|slot| (slot.target, slot.keep));
            *row = merge(&mut slots, *row, end, |kept, more| {
                kept.keep = (f32::from_bits(kept.keep) + f32::from_bits(more.keep)).to_bits();
            });
            end += row.degree() as usize;
        }
        shrink(&mut slots, end);
        let weights: Vec<f32> = slots.iter().map(|slot| f32::from_bits(slot.keep)).collect();
        let mut scratch = Scratch::default();
        for row in &rows {
            let weights = weights[row.range()].iter().map(|&weight| f64::from(weight));
            scratch.fill(&mut slots[row.range()], weights);
        }
        Self::checked(shape, rows, Columns::Weighted(slots, weights))
    }

    /// A graph from compressed rows as numpy and scipy keep them: the arcs of node `n` are
    /// `targets[offsets[n]..offsets[n + 1]]`. An undirected graph names each edge in both rows.
    pub fn from_rows(
        shape: Shape,
        offsets: &[u64],
        targets: &[u32],
        weights: Option<&[f32]>,
    ) -> Result<Self, GraphError> {
        let error = |row, what| Err(GraphError::Rows { row, what });
        if offsets.len() != shape.nodes as usize + 1 {
            return error(offsets.len(), "there is one offset more than nodes");
        }
        if offsets[0] != 0 || offsets[offsets.len() - 1] != targets.len() as u64 {
            return error(0, "offsets go from 0 to the number of targets");
        }
        if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return error(row, "offsets ascend");
        }
        if weights.is_some_and(|weights| weights.len() != targets.len()) {
            return error(0, "there are as many weights as targets");
        }
        let one_way = Shape { directed: true, ..shape };
        let ends = |node: u32| offsets[node as usize] as usize..offsets[node as usize + 1] as usize;
        let mut graph = match weights {
            None => Self::even(one_way, || {
                (0..shape.nodes).flat_map(|node| ends(node).map(move |at| (node, targets[at])))
            }),
            Some(weights) => Self::with_weights(one_way, || {
                (0..shape.nodes).flat_map(|node| ends(node).map(move |at| (node, targets[at], weights[at])))
            }),
        }?;
        graph.shape = shape;
        let whole = shape.nodes == shape.targets;
        if !shape.directed && whole {
            let one_sided = |node: &u32| graph.neighbours(*node).any(|to| !graph.has_arc(to, *node));
            if let Some(node) = (0..shape.nodes).find(one_sided) {
                return error(node as usize, "an undirected graph names each edge in the rows of both ends");
            }
        }
        Ok(graph)
    }

    /// The graph with all arcs turned around; an undirected one stays as it is.
    pub fn reversed(&self) -> Result<Self, GraphError> {
        let nodes = 0..self.nodes();
        if !self.shape().directed {
            Ok(self.clone())
        } else if self.weighted() {
            let row =
                |to| self.neighbours(to).zip(self.weights(to)).map(move |(from, weight)| (from, to, weight));
            Self::with_weights(self.shape(), || nodes.clone().flat_map(row))
        } else {
            Self::even(self.shape(), || {
                nodes.clone().flat_map(|to| self.neighbours(to).map(move |from| (from, to)))
            })
        }
    }

    fn checked(shape: Shape, rows: Vec<Row>, columns: Columns) -> Result<Self, GraphError> {
        Ok(Self { rows, columns, shape, unused: 0 })
    }
}

/// An arc as people give it.
trait Given: Copy {
    fn ends(self) -> (u32, u32);
    fn turned(self) -> Self;
    fn weight(self) -> Option<f32>;
}

impl Given for (u32, u32) {
    fn ends(self) -> (u32, u32) {
        self
    }

    fn turned(self) -> Self {
        (self.1, self.0)
    }

    fn weight(self) -> Option<f32> {
        None
    }
}

impl Given for (u32, u32, f32) {
    fn ends(self) -> (u32, u32) {
        (self.0, self.1)
    }

    fn turned(self) -> Self {
        (self.1, self.0, self.2)
    }

    fn weight(self) -> Option<f32> {
        Some(self.2)
    }
}

/// Checks every arc and gives each node the row that its arcs need, and the arcs in all.
fn count<A: Given>(shape: Shape, arcs: impl IntoIterator<Item = A>) -> Result<(Vec<Row>, usize), GraphError> {
    let mut degrees = vec![0u64; shape.nodes as usize];
    for (arc, given) in (0u64..).zip(arcs) {
        check(shape, arc, given)?;
        let (from, to) = given.ends();
        degrees[from as usize] += 1;
        if turns(shape, given) {
            degrees[to as usize] += 1;
        }
    }
    let total: u64 = degrees.iter().sum();
    if total >= ARCS_MAX {
        return Err(GraphError::Arcs { arcs: total });
    }
    if let Some((node, &degree)) = (0..).zip(&degrees).find(|(_, degree)| **degree > DEGREE_MAX) {
        return Err(GraphError::Degree { node, degree });
    }
    let mut offset = 0;
    // Collected into the memory of `degrees`.
    let rows = degrees.into_iter().map(|degree| {
        offset += degree as usize;
        Row::new(offset - degree as usize, degree as usize)
    });
    let mut rows: Vec<Row> = rows.collect();
    let _ = mem::advise_huge_pages(&mut rows);
    Ok((rows, total as usize))
}

fn check<A: Given>(shape: Shape, arc: u64, given: A) -> Result<(), GraphError> {
    let (from, to) = given.ends();
    let to_limit = if turns(shape, given) { shape.nodes } else { shape.targets };
    for (node, nodes) in [(from, shape.nodes), (to, to_limit)] {
        if node >= nodes {
            return Err(GraphError::Node { arc, node, nodes });
        }
    }
    match given.weight() {
        Some(weight) if !(weight.is_finite() && weight > 0.0) => Err(GraphError::Weight { arc, weight }),
        _ => Ok(()),
    }
}

/// Whether the arc also stands in the row of its other end.
fn turns<A: Given>(shape: Shape, given: A) -> bool {
    let (from, to) = given.ends();
    !shape.directed && from != to
}

/// Gives every arc its place: `put` gets a position and the arc that belongs there.
fn place<A: Given>(
    shape: Shape,
    rows: &mut [Row],
    arcs: impl IntoIterator<Item = A>,
    mut put: impl FnMut(usize, A),
) -> Result<(), GraphError> {
    let total = rows.last().map_or(0, |row| row.range().end);
    let mut left = total;
    // A row is filled from its end; its degree counts what is still free, so no second array is needed.
    let mut take = |from: u32, given: A| {
        let row = rows.get_mut(from as usize).filter(|row| row.degree() > 0).ok_or(GraphError::Changed)?;
        *row = Row::new(row.offset(), row.degree() as usize - 1);
        put(row.range().end, given);
        left -= 1;
        Ok(())
    };
    for (arc, given) in (0u64..).zip(arcs) {
        check(shape, arc, given).map_err(|_| GraphError::Changed)?;
        take(given.ends().0, given)?;
        if turns(shape, given) {
            take(given.ends().1, given.turned())?;
        }
    }
    if left > 0 {
        return Err(GraphError::Changed);
    }
    let mut end = total;
    for row in rows.iter_mut().rev() {
        *row = Row::new(row.offset(), end - row.offset());
        end = row.offset();
    }
    Ok(())
}

/// Memory on huge pages where the system has them: columns are read in no order, and each small page would be
/// looked up again.
fn blank<T: Clone>(length: usize, value: T) -> Vec<T> {
    let mut memory: Vec<T> = Vec::with_capacity(length);
    // Without huge pages the walks are slower and otherwise the same.
    let _ = mem::advise_huge_pages(memory.spare_capacity_mut());
    memory.resize(length, value);
    memory
}

/// Gives memory back where much is left over; moving the rest would leave the huge pages behind.
fn shrink<T>(memory: &mut Vec<T>, length: usize) {
    memory.truncate(length);
    if memory.capacity() > length + length / 4 {
        memory.shrink_to_fit();
    }
}

/// Moves a sorted row to position `end`, not after where it was, with each target once.
fn merge<T: Arc>(arcs: &mut [T], row: Row, end: usize, add: impl Fn(&mut T, T)) -> Row {
    let mut next = end;
    for at in row.range() {
        let arc = arcs[at];
        if next > end && arcs[next - 1].target() == arc.target() {
            add(&mut arcs[next - 1], arc);
        } else {
            arcs[next] = arc;
            next += 1;
        }
    }
    Row::new(end, next - end)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn rows_are_sorted_and_parallel_arcs_are_one() {
        let arcs = [(0, 2), (0, 1), (2, 1), (1, 0), (0, 2)];
        let graph = Graph::even(Shape::directed(3), || arcs).unwrap();
        assert_eq!(graph.neighbours(0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((graph.arcs(), graph.degree(1), graph.degree(2), graph.degree(9)), (4, 1, 1, 0));
        assert!(graph.has_arc(2, 1) && !graph.has_arc(1, 2));
    }

    #[test]
    fn an_edge_stands_at_both_ends_and_a_loop_once() {
        let graph = Graph::even(Shape::undirected(3), || [(0, 1), (1, 0), (2, 2)]).unwrap();
        assert_eq!(graph.arcs(), 3);
        assert!(graph.adjacent(0, 1) && graph.adjacent(1, 0) && graph.adjacent(2, 2));
    }

    #[test]
    fn weights_of_parallel_arcs_are_added() {
        let graph =
            Graph::with_weights(Shape::directed(2), || [(0, 1, 1.5), (0, 0, 1.0), (0, 1, 0.5)]).unwrap();
        assert_eq!(graph.weights(0).collect::<Vec<_>>(), [1.0, 2.0]);
    }

    #[test]
    fn a_graph_turned_around_twice_is_itself() {
        let graph =
            Graph::with_weights(Shape::directed(3), || [(0, 1, 2.0), (0, 2, 1.0), (2, 1, 0.5)]).unwrap();
        let turned = graph.reversed().unwrap();
        assert!(turned.neighbours(1).eq([0, 2]) && turned.weights(1).eq([2.0, 0.5]));
        assert_eq!(turned.reversed().unwrap(), graph);
    }

    #[test]
    fn bad_arcs_are_refused_with_their_number() {
        let refuse =
            |arcs: &[(u32, u32)]| Graph::even(Shape::directed(3), || arcs.iter().copied()).unwrap_err();
        assert_eq!(refuse(&[(0, 1), (0, 3)]), GraphError::Node { arc: 1, node: 3, nodes: 3 });
        assert_eq!(refuse(&[(4, 1)]).to_string(), "arc 0: node 4 is outside 0–2");
        for weight in [-1.0, 0.0, f32::NAN, f32::INFINITY] {
            let error = Graph::with_weights(Shape::directed(2), || [(0, 1, weight)]).unwrap_err();
            assert!(error.to_string().starts_with("arc 0: weight"), "{error}");
        }
    }

    #[test]
    fn arcs_that_change_between_the_readings_are_refused() {
        for other in [vec![], vec![(1, 0)], vec![(0, 1), (0, 2)], vec![(7, 7)]] {
            let first = Cell::new(true);
            let arcs = || if first.replace(false) { vec![(0, 1)] } else { other.clone() };
            assert_eq!(Graph::even(Shape::directed(3), arcs), Err(GraphError::Changed));
        }
    }

    #[test]
    fn a_row_that_is_too_long_is_refused() {
        let star = || (0..=DEGREE_MAX as u32).map(|to| (0, to));
        let error = Graph::even(Shape::directed(1 << 25), star).unwrap_err();
        assert_eq!(error, GraphError::Degree { node: 0, degree: 1 << 24 });
    }

    #[test]
    fn compressed_rows_are_checked() {
        let shape = Shape::directed(2);
        assert!(Graph::from_rows(shape, &[0, 1, 2], &[1, 0], None).is_ok());
        assert!(Graph::from_rows(shape, &[0, 2], &[1, 0], None).is_err());
        assert!(Graph::from_rows(shape, &[0, 3, 2], &[1, 0], None).is_err());
        assert!(Graph::from_rows(shape, &[0, 1, 2], &[1, 2], None).is_err());
        assert!(Graph::from_rows(shape, &[0, 1, 2], &[1, 0], Some(&[1.0])).is_err());
        assert!(Graph::from_rows(Shape::undirected(2), &[0, 1, 1], &[1], None).is_err());
        assert!(Graph::from_rows(Shape::undirected(2), &[0, 1, 2], &[1, 0], None).is_ok());
    }
}
