//! The planners by name.

use crate::check::{self, PlanError};
use crate::plan::Plan;
use crate::topology::{NodeId, Topology};
use crate::{dijkstra, flat, fpfr, near, pipeline, stable};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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

/// A name that no algorithm has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no algorithm {name:?}: allowed are {}", Algorithm::ALL.map(Algorithm::name).join(", "))]
pub struct UnknownAlgorithm {
    name: String,
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| UnknownAlgorithm { name: name.to_owned() })
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Plans a broadcast. The seed is that of random orders; all else follows from the topology.
///
/// Each destination can be reached and is there once; otherwise it is an error.
pub fn plan(
    algorithm: Algorithm,
    topology: &Topology,
    source: NodeId,
    destinations: &[NodeId],
    seed: u64,
) -> Result<Plan, PlanError> {
    check::check_members(topology, source, destinations)?;
    check::check_reachable(topology, source, destinations)?;
    match algorithm {
        Algorithm::Flat => flat::plan(topology, source, destinations),
        Algorithm::RandomPipeline => pipeline::random(topology, source, destinations, seed),
        Algorithm::DepthFirst => Ok(fpfr::depth_first(topology, source, destinations)),
        Algorithm::Dijkstra => Ok(dijkstra::plan(topology, source, destinations)),
        Algorithm::Fpfr => Ok(fpfr::fpfr(topology, source, destinations)),
        Algorithm::Stable => Ok(stable::plan(topology, source, destinations)),
        Algorithm::Near => near::plan(topology, source, destinations),
    }
}
