//! What one server holds of a graph: the rows of its own nodes, and the owner of each node that they are
//! joined to. Nodes keep their numbers in the whole graph.

use std::collections::BTreeMap;

use crate::graph::{Applied, Change, Graph, GraphError, Shape};

use super::members::Members;
use super::owners::Partition;

/// A server's part of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPart {
    server: u16,
    nodes: u32,
    directed: bool,
    own: Members,
    /// Row `n` is that of the `n`-th own node.
    graph: Graph,
    /// Nodes of others that an arc joins to an own one, in either direction, and their owners.
    others: Members,
    owners: Vec<u16>,
    /// The same for those that came while walks ran.
    late: BTreeMap<u32, u16>,
}

impl ServerPart {
    /// The part of `server`, from the whole graph.
    pub fn of(graph: &Graph, partition: &Partition, server: u16) -> Result<Self, GraphError> {
        // Both directions of an edge are there, so each is an arc of its own, and those that begin at own
        // nodes are enough. Arcs that go one way may also end there.
        let shape = Shape::directed(graph.nodes());
        let own = |node: &u32| graph.shape().directed || partition.owner(*node) == Some(server);
        let nodes = || (0..graph.nodes()).filter(own);
        let mut part = if graph.weighted() {
            let row = |node| {
                graph.neighbours(node).zip(graph.weights(node)).map(move |(to, weight)| (node, to, weight))
            };
            Self::with_weights(shape, partition, server, || nodes().flat_map(row))?
        } else {
            let row = |node| graph.neighbours(node).map(move |to| (node, to));
            Self::even(shape, partition, server, || nodes().flat_map(row))?
        };
        part.directed = graph.shape().directed;
        Ok(part)
    }

    /// The part of `server`, from the arcs of a graph without weights. Arcs that do not touch its nodes are
    /// passed over. `arcs` is called three times and gives the same arcs each time.
    pub fn even<I>(
        shape: Shape,
        partition: &Partition,
        server: u16,
        arcs: impl Fn() -> I,
    ) -> Result<Self, GraphError>
    where
        I: IntoIterator<Item = (u32, u32)>,
    {
        let own = Members::new(partition.nodes(), |node| partition.owner(node) == Some(server));
        let others = joined(shape, &own, arcs())?;
        let rows = || arcs().into_iter().flat_map(|(from, to)| rows_of(shape, &own, from, to));
        let graph = Graph::even(rows_shape(shape, &own), rows)?;
        Ok(Self::join(shape, partition, server, own.clone(), graph, others))
    }

    /// The same with weights.
    pub fn with_weights<I>(
        shape: Shape,
        partition: &Partition,
        server: u16,
        arcs: impl Fn() -> I,
    ) -> Result<Self, GraphError>
    where
        I: IntoIterator<Item = (u32, u32, f32)>,
    {
        let own = Members::new(partition.nodes(), |node| partition.owner(node) == Some(server));
        let others = joined(shape, &own, arcs().into_iter().map(|(from, to, _)| (from, to)))?;
        let rows = || {
            arcs().into_iter().flat_map(|(from, to, weight)| {
                rows_of(shape, &own, from, to).map(move |(row, to)| (row, to, weight))
            })
        };
        let graph = Graph::with_weights(rows_shape(shape, &own), rows)?;
        Ok(Self::join(shape, partition, server, own.clone(), graph, others))
    }

    fn join(
        shape: Shape,
        partition: &Partition,
        server: u16,
        own: Members,
        graph: Graph,
        others: Members,
    ) -> Self {
        let owners = others.iter().filter_map(|node| partition.owner(node)).collect();
        let late = BTreeMap::new();
        Self { server, nodes: shape.nodes, directed: shape.directed, own, graph, others, owners, late }
    }

    /// The server whose part it is.
    pub fn server(&self) -> u16 {
        self.server
    }

    /// Nodes of the whole graph.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Whether an arc goes one way only.
    pub fn directed(&self) -> bool {
        self.directed
    }

    /// Whether arcs have weights.
    pub fn weighted(&self) -> bool {
        self.graph.weighted()
    }

    /// Its own nodes, ascending.
    pub fn own_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.own.iter()
    }

    /// Whether it owns `node`.
    #[inline]
    pub fn owns(&self, node: u32) -> bool {
        self.own.contains(node)
    }

    /// The first of its own nodes and how many they are, if they follow one another.
    pub fn consecutive(&self) -> Option<(u32, u32)> {
        self.own.consecutive()
    }

    /// The server that owns `node`, if this part knows it: it is its own, or joined to one of them.
    #[inline]
    pub fn owner(&self, node: u32) -> Option<u16> {
        if self.own.contains(node) {
            return Some(self.server);
        }
        match self.others.index(node) {
            Some(index) => self.owners.get(index as usize).copied(),
            None => self.late.get(&node).copied(),
        }
    }

    /// Its own nodes' rows, by their order; targets are numbers in the whole graph.
    pub fn rows(&self) -> &Graph {
        &self.graph
    }

    /// The row of an own node.
    #[inline]
    pub fn row(&self, node: u32) -> Option<u32> {
        self.own.index(node)
    }

    /// Whether an arc leads from `from`, an own node, to `to`.
    pub fn has_arc(&self, from: u32, to: u32) -> bool {
        self.row(from).is_some_and(|row| self.graph.has_arc(row, to))
    }

    /// Applies a batch of changes: of each, what begins at an own node, and in an undirected graph what ends
    /// at one too. `owner` knows the owners of nodes that are new to this part.
    pub fn apply(
        &mut self,
        changes: &[Change],
        owner: impl Fn(u32) -> Option<u16>,
    ) -> Result<Applied, GraphError> {
        let mut mine = Vec::with_capacity(changes.len());
        let mut met = Vec::new();
        for (arc, &change) in (0u64..).zip(changes) {
            let (Change::Set { from, to, .. } | Change::Remove { from, to }) = change;
            if let Some(&node) = [from, to].iter().find(|node| **node >= self.nodes) {
                return Err(GraphError::Node { arc, node, nodes: self.nodes });
            }
            let shape = Shape { directed: self.directed, ..Shape::directed(self.nodes) };
            mine.extend(rows_of(shape, &self.own, from, to).map(|(from, to)| match change {
                Change::Set { weight, .. } => Change::Set { from, to, weight },
                Change::Remove { .. } => Change::Remove { from, to },
            }));
            let set = matches!(change, Change::Set { .. });
            for (node, other) in [(from, to), (to, from)] {
                if set && self.owns(node) && self.owner(other).is_none() {
                    let owner =
                        owner(other).ok_or(GraphError::Node { arc, node: other, nodes: self.nodes })?;
                    met.push((other, owner));
                }
            }
        }
        let applied = self.graph.apply(&mine)?;
        self.late.extend(met);
        Ok(applied)
    }

    /// Bytes of memory that the part holds.
    pub fn bytes(&self) -> usize {
        let late = self.late.len() * size_of::<(u32, u16)>();
        self.graph.bytes() + self.own.bytes() + self.others.bytes() + self.owners.capacity() * 2 + late
    }
}

fn rows_shape(shape: Shape, own: &Members) -> Shape {
    Shape { nodes: own.count(), targets: shape.nodes, directed: true }
}

/// The rows of own nodes that the arc stands in, and what it leads to from there.
fn rows_of(shape: Shape, own: &Members, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
    let there = own.index(from).map(|row| (row, to));
    let back = if shape.directed || from == to { None } else { own.index(to).map(|row| (row, from)) };
    there.into_iter().chain(back)
}

/// Nodes that an arc joins to an own one and that are not own; all arcs are checked.
fn joined(
    shape: Shape,
    own: &Members,
    arcs: impl IntoIterator<Item = (u32, u32)>,
) -> Result<Members, GraphError> {
    let mut words = vec![0u64; shape.nodes.div_ceil(64) as usize];
    for (arc, (from, to)) in (0u64..).zip(arcs) {
        if let Some(&node) = [from, to].iter().find(|node| **node >= shape.nodes) {
            return Err(GraphError::Node { arc, node, nodes: shape.nodes });
        }
        let (first, second) = (own.index(from).is_some(), own.index(to).is_some());
        if first != second {
            let other = if first { to } else { from };
            words[(other / 64) as usize] |= 1 << (other % 64);
        }
    }
    Ok(Members::from_words(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Sbm;

    /// 0 and 1 belong to server 0, 2 and 3 to server 1, 4 to server 2.
    fn partition() -> Partition {
        Partition::ranges(&[2, 2, 1]).unwrap()
    }

    #[test]
    fn a_part_knows_its_rows_and_who_owns_what_is_joined_to_them() {
        let arcs = [(0, 1), (1, 2), (3, 0), (2, 4)];
        let part = ServerPart::even(Shape::directed(5), &partition(), 0, || arcs).unwrap();
        assert_eq!(part.own_nodes().collect::<Vec<_>>(), [0, 1]);
        assert!(part.has_arc(1, 2) && !part.has_arc(2, 4) && !part.has_arc(0, 3));
        let owners: Vec<_> = (0..5).map(|node| part.owner(node)).collect();
        assert_eq!(owners, [Some(0), Some(0), Some(1), Some(1), None]);
        assert_eq!(part.rows().arcs(), 2);
    }

    #[test]
    fn parts_together_are_the_graph() {
        let graph = Sbm::document(0.2, 0.02).graph(5).unwrap().unwrap();
        let partition = Partition::new((0..300).map(|node| (node % 5 % 3) as u16).collect(), 3).unwrap();
        let parts_of = |graph: &Graph| -> Vec<_> {
            (0..3).map(|server| ServerPart::of(graph, &partition, server).unwrap()).collect()
        };
        let parts = parts_of(&graph);
        assert_eq!(parts.iter().map(|part| part.rows().arcs()).sum::<u64>(), graph.arcs());
        for node in 0..300 {
            let part = &parts[usize::from(partition.owner(node).unwrap())];
            let row = part.row(node).unwrap();
            assert!(part.rows().neighbours(row).eq(graph.neighbours(node)));
            assert!(graph.neighbours(node).all(|to| part.owner(to) == partition.owner(to)));
        }
        let edges = || (0..300).flat_map(|node| graph.neighbours(node).map(move |to| (node, to)));
        let undirected = ServerPart::even(Shape::undirected(300), &partition, 1, edges).unwrap();
        assert_eq!(undirected, parts[1]);
        // Arcs that end at own nodes count too.
        let one_way = || edges().filter(|(from, to)| from < to);
        let upwards = Graph::even(Shape::directed(300), one_way).unwrap();
        for (server, part) in (0..).zip(parts_of(&upwards)) {
            assert_eq!(part, ServerPart::even(Shape::directed(300), &partition, server, one_way).unwrap());
        }
    }

    #[test]
    fn changes_reach_the_parts_they_concern() {
        let mut part = ServerPart::even(Shape::undirected(5), &partition(), 0, || [(0, 1)]).unwrap();
        let set = |from, to| Change::Set { from, to, weight: None };
        let owner = |node| partition().owner(node);
        let applied = part.apply(&[set(4, 1), set(2, 3), Change::Remove { from: 1, to: 0 }], owner).unwrap();
        assert_eq!((applied.added, applied.removed), (1, 2));
        assert!(part.has_arc(1, 4) && !part.has_arc(0, 1));
        assert_eq!((part.owner(4), part.owner(2)), (Some(2), None));
        assert!(part.apply(&[set(0, 5)], owner).is_err());
        assert!(part.apply(&[set(0, 3)], |_| None).is_err());
        assert!(!part.has_arc(0, 3));
    }
}
