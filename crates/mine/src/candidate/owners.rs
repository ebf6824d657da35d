//! Which node counts a candidate: T. Shintani and M. Kitsuregawa, "Hash based parallel algorithms for mining association
//! rules", PDIS 1996 (HPA): a hash of the itemset, so that a node counts a part of the candidates and none is counted twice.
//!
//! The hash of a pair is its higher code shifted by a number that its lower code draws. So a node owns every `nodes`-th pair of
//! each row, to within one, and its counts are an array without keys, as one node's are (`count::Triangle`).

use crate::codes::hash;

/// Nodes, and who of them owns what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    nodes: u32,
    /// How far a row's owners are shifted, by lower code.
    shifts: Vec<u32>,
    /// A code modulo the nodes.
    residues: Vec<u32>,
    /// A code divided by the nodes.
    quotients: Vec<u32>,
}

impl Owners {
    /// Of the candidates of so many codes.
    ///
    /// # Panics
    /// Without a node.
    pub fn new(codes: u32, nodes: u32) -> Self {
        assert!(nodes > 0, "somebody owns the candidates");
        let each = |of: fn(u32, u32) -> u32| (0..codes).map(|code| of(code, nodes)).collect();
        Self {
            nodes,
            shifts: each(|code, nodes| (hash(code) % u64::from(nodes)) as u32),
            residues: each(|code, nodes| code % nodes),
            quotients: each(|code, nodes| code / nodes),
        }
    }

    /// How many nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// How many codes.
    pub fn codes(&self) -> u32 {
        self.shifts.len() as u32
    }

    /// The owner of a pair; `low` is the lower code.
    #[inline]
    pub fn of_pair(&self, low: u32, high: u32) -> u32 {
        let owner = self.shifts[low as usize] + self.residues[high as usize];
        if owner < self.nodes { owner } else { owner - self.nodes }
    }

    /// The owner of an itemset of two or more codes.
    pub fn of(&self, itemset: &[u32]) -> u32 {
        if let [low, high] = itemset {
            return self.of_pair(*low, *high);
        }
        let all = itemset.iter().fold(0u64, |all, code| hash(*code).wrapping_add(all.rotate_left(5)));
        // The high half: the low one of a product depends on low bits only.
        ((all.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % u64::from(self.nodes)) as u32
    }

    /// What the columns of a row that `owner` owns leave when divided by the nodes.
    #[inline]
    pub(crate) fn residue(&self, owner: u32, row: u32) -> u32 {
        let shift = self.shifts[row as usize];
        if owner >= shift { owner - shift } else { owner + self.nodes - shift }
    }

    /// The first column of a row that `owner` owns, which may be behind the last code.
    pub(crate) fn first(&self, owner: u32, row: u32) -> u32 {
        let (column, wanted) = (row + 1, self.residue(owner, row));
        column + (wanted + self.nodes - column % self.nodes) % self.nodes
    }

    /// Columns of a row that `owner` owns.
    pub(crate) fn columns(&self, owner: u32, row: u32) -> u32 {
        let first = self.first(owner, row);
        if first < self.codes() { (self.codes() - 1 - first) / self.nodes + 1 } else { 0 }
    }

    #[inline(always)]
    pub(crate) fn residues(&self) -> &[u32] {
        &self.residues
    }

    #[inline(always)]
    pub(crate) fn quotients(&self) -> &[u32] {
        &self.quotients
    }
}
