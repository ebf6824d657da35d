//! The planners by name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a plan is made. Names are those of document 003, slides 15 and 27.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// The source sends to each destination.
    Flat,
    /// A chain through all destinations in random order.
    RandomPipeline,
    /// A chain through all destinations in the order of a depth-first search.
    DepthFirst,
    /// One tree of widest paths.
    Dijkstra,
    /// Spanning trees side by side.
    Fpfr,
    /// Spanning and partial trees: the stable broadcast algorithm.
    Stable,
    /// Close to the highest aggregate on any topology.
    Near,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Flat,
        Algorithm::RandomPipeline,
        Algorithm::DepthFirst,
        Algorithm::Dijkstra,
        Algorithm::Fpfr,
        Algorithm::Stable,
        Algorithm::Near,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Flat => "flat",
            Algorithm::RandomPipeline => "random-pipeline",
            Algorithm::DepthFirst => "depth-first",
            Algorithm::Dijkstra => "dijkstra",
            Algorithm::Fpfr => "fpfr",
            Algorithm::Stable => "stable",
            Algorithm::Near => "near",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
