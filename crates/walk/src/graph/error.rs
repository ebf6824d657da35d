//! Why a graph is refused, in words for people.

use thiserror::Error;

use super::row::{ARCS_MAX, DEGREE_MAX};

/// What is wrong with the arcs of a graph, or with a change of it.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum GraphError {
    /// An arc names a node that the graph does not have.
    #[error("arc {arc}: node {node} is outside 0–{}", i64::from(*nodes) - 1)]
    Node {
        /// The arc's number, from 0.
        arc: u64,
        /// The node that it names.
        node: u32,
        /// How many nodes there are.
        nodes: u32,
    },
    /// A weight that no choice can follow.
    #[error("arc {arc}: weight {weight} is not a positive number (leave arcs of weight 0 out)")]
    Weight {
        /// The arc's number, from 0.
        arc: u64,
        /// Its weight.
        weight: f32,
    },
    /// A weight for a graph without weights, or none for one with them.
    #[error("arc {arc}: {}", if *weighted { "the graph has weights and this arc has none" } else { "the graph has no weights and this arc has one" })]
    Kind {
        /// The arc's number, from 0.
        arc: u64,
        /// Whether the graph has weights.
        weighted: bool,
    },
    /// More arcs at a node than a row can hold.
    #[error("node {node} has {degree} arcs; at most {DEGREE_MAX} are possible")]
    Degree {
        /// The node.
        node: u32,
        /// Its arcs.
        degree: u64,
    },
    /// More arcs than the rows can point to.
    #[error("{arcs} arcs; at most {ARCS_MAX} are possible")]
    Arcs {
        /// The arcs of the graph.
        arcs: u64,
    },
    /// The arcs are read twice and were not the same.
    #[error("the arcs changed while they were read")]
    Changed,
    /// Rows handed over as arrays do not fit together.
    #[error("row {row}: {what}")]
    Rows {
        /// The row's number.
        row: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}
