//! Arcs added and removed while walks run. Changes come in batches between steps: each row that changes is
//! written again as a whole, where it was if it fits, behind the others if not. When a third of the columns
//! lies unused, the rows move together. A reader sees the rows before the batch or after it.

use super::alias::{Scratch, Slot};
use super::row::{ARCS_MAX, DEGREE_MAX};
use super::{Columns, Graph, GraphError, Row};

/// One change. In an undirected graph it holds for both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The arc is there from now on; one that was there gets the weight. A graph without weights takes none.
    Set {
        /// Where it starts.
        from: u32,
        /// Where it leads.
        to: u32,
        /// Its weight, above 0.
        weight: Option<f32>,
    },
    /// The arc is not there from now on.
    Remove {
        /// Where it starts.
        from: u32,
        /// Where it leads.
        to: u32,
    },
}

/// What a batch of changes did, in arcs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Arcs that are new.
    pub added: u64,
    /// Arcs that were there and were set again.
    pub set: u64,
    /// Arcs that are gone.
    pub removed: u64,
    /// Arcs that should have gone and were not there.
    pub missing: u64,
}

/// A change of one row: the target, and its weight or none where it goes.
type Edit = (u32, u32, Option<f32>);

impl Graph {
    /// Applies a batch: all of it, or none when a change is refused. Of several changes of an arc the last
    /// counts.
    pub fn apply(&mut self, changes: &[Change]) -> Result<Applied, GraphError> {
        let edits = self.edits(changes)?;
        let mut batch = edits.as_slice();
        while let Some(&(node, ..)) = batch.first() {
            let (edits, rest) = batch.split_at(batch.partition_point(|edit| edit.0 == node));
            let degree =
                u64::from(self.degree(node)) + edits.iter().filter(|edit| edit.2.is_some()).count() as u64;
            if degree > DEGREE_MAX {
                return Err(GraphError::Degree { node, degree });
            }
            batch = rest;
        }
        let most = self.columns.len() as u64 + edits.len() as u64;
        if most >= ARCS_MAX {
            return Err(GraphError::Arcs { arcs: most });
        }
        let mut applied = Applied::default();
        let mut writer = Writer::default();
        let mut batch = edits.as_slice();
        while let Some(&(node, ..)) = batch.first() {
            let (edits, rest) = batch.split_at(batch.partition_point(|edit| edit.0 == node));
            self.rewrite(node, edits, &mut writer, &mut applied);
            batch = rest;
        }
        if self.unused > self.columns.len() / 3 {
            self.compact();
        }
        Ok(applied)
    }

    /// Nodes behind the last one, without arcs; in a whole graph they can be targets too.
    pub fn add_nodes(&mut self, nodes: u32) {
        let whole = self.shape.targets == self.shape.nodes;
        self.shape.nodes += nodes;
        self.rows.resize(self.shape.nodes as usize, Row::default());
        if whole {
            self.shape.targets = self.shape.nodes;
        }
    }

    /// The changes by row and target, each arc once.
    fn edits(&self, changes: &[Change]) -> Result<Vec<Edit>, GraphError> {
        let mut edits = Vec::with_capacity(changes.len() * 2);
        for (arc, &change) in (0u64..).zip(changes) {
            let (from, to, weight) = self.check(arc, change)?;
            edits.push((from, to, weight));
            if !self.shape.directed && from != to {
                edits.push((to, from, weight));
            }
        }
        edits.sort_by_key(|&(from, to, _)| (from, to));
        // The sort is stable: the last of equals is the latest.
        edits.reverse();
        edits.dedup_by_key(|&mut (from, to, _)| (from, to));
        edits.reverse();
        Ok(edits)
    }

    fn check(&self, arc: u64, change: Change) -> Result<Edit, GraphError> {
        let (from, to, weight) = match change {
            Change::Set { from, to, weight } => {
                if weight.is_some() != self.weighted() {
                    return Err(GraphError::Kind { arc, weighted: self.weighted() });
                }
                (from, to, Some(weight.unwrap_or(1.0)))
            }
            Change::Remove { from, to } => (from, to, None),
        };
        let to_limit = if self.shape.directed { self.shape.targets } else { self.shape.nodes };
        for (node, nodes) in [(from, self.shape.nodes), (to, to_limit)] {
            if node >= nodes {
                return Err(GraphError::Node { arc, node, nodes });
            }
        }
        match weight {
            Some(weight) if !(weight.is_finite() && weight > 0.0) => Err(GraphError::Weight { arc, weight }),
            _ => Ok((from, to, weight)),
        }
    }

    /// Writes one row again.
    fn rewrite(&mut self, node: u32, edits: &[Edit], writer: &mut Writer, applied: &mut Applied) {
        let old = self.rows[node as usize];
        let before: Vec<(u32, f32)> = self.neighbours(node).zip(self.weights(node)).collect();
        writer.merge(&before, edits, applied);
        let degree = writer.targets.len();
        let fits = degree <= old.degree() as usize;
        let offset = if fits { old.offset() } else { self.columns.len() };
        self.unused += old.degree() as usize - if fits { degree } else { 0 };
        self.rows[node as usize] = Row::new(offset, degree);
        writer.write(&mut self.columns, offset);
    }

    /// Moves the rows together, in the order in which they lie.
    fn compact(&mut self) {
        let mut order: Vec<u32> = (0..self.shape.nodes).collect();
        order.sort_unstable_by_key(|&node| self.rows[node as usize].offset());
        let mut end = 0;
        for node in order {
            let row = &mut self.rows[node as usize];
            match &mut self.columns {
                Columns::Even(targets) => targets.copy_within(row.range(), end),
                Columns::Weighted(slots, weights) => {
                    slots.copy_within(row.range(), end);
                    weights.copy_within(row.range(), end);
                }
            }
            *row = Row::new(end, row.degree() as usize);
            end += row.degree() as usize;
        }
        match &mut self.columns {
            Columns::Even(targets) => targets.truncate(end),
            Columns::Weighted(slots, weights) => {
                slots.truncate(end);
                weights.truncate(end);
            }
        }
        self.unused = 0;
    }
}

/// A row as it will be, and memory to make it.
#[derive(Default)]
struct Writer {
    targets: Vec<u32>,
    weights: Vec<f32>,
    scratch: Scratch,
}

impl Writer {
    fn merge(&mut self, before: &[(u32, f32)], edits: &[Edit], applied: &mut Applied) {
        self.targets.clear();
        self.weights.clear();
        let mut old = before.iter().copied().peekable();
        for &(_, to, weight) in edits {
            while let Some((target, weight)) = old.next_if(|&(target, _)| target < to) {
                self.push(target, weight);
            }
            let there = old.next_if(|&(target, _)| target == to).is_some();
            match (weight, there) {
                (Some(_), true) => applied.set += 1,
                (Some(_), false) => applied.added += 1,
                (None, true) => applied.removed += 1,
                (None, false) => applied.missing += 1,
            }
            if let Some(weight) = weight {
                self.push(to, weight);
            }
        }
        for (target, weight) in old {
            self.push(target, weight);
        }
    }

    fn push(&mut self, target: u32, weight: f32) {
        self.targets.push(target);
        self.weights.push(weight);
    }

    /// Writes the row to `offset`, which lies in the columns or right behind them.
    fn write(&mut self, columns: &mut Columns, offset: usize) {
        match columns {
            Columns::Even(targets) => overwrite(targets, offset, &self.targets),
            Columns::Weighted(slots, weights) => {
                let mut row: Vec<Slot> =
                    self.targets.iter().map(|&target| Slot { target, ..Slot::default() }).collect();
                self.scratch.fill(&mut row, self.weights.iter().map(|&weight| f64::from(weight)));
                overwrite(slots, offset, &row);
                overwrite(weights, offset, &self.weights);
            }
        }
    }
}

/// Grows by an eighth rather than to twice its size: columns are most of the memory.
fn overwrite<T: Copy>(all: &mut Vec<T>, offset: usize, row: &[T]) {
    if offset == all.len() {
        if all.capacity() < offset + row.len() {
            all.reserve_exact(row.len().max(offset / 8));
        }
        all.extend_from_slice(row);
    } else {
        all[offset..offset + row.len()].copy_from_slice(row);
    }
}
