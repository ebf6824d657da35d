//! Stable broadcast: one source, many receivers, and a slow one never slows the others (document 003).
//!
//! [`topology`] is a network with a rate per link and direction; [`mod@plan`] is what a planner returns:
//! trees of hosts that relay, each with a rate; [`transfer`] has the Processes that execute a plan. Nothing
//! here reads a file, a clock or a socket.
//!
//! One receiver has a tenth of the other's rate. The plan gives each of them its full rate: one tree reaches
//! both, and a partial tree reaches only the fast one:
//!
//! ```
//! use broadcast::algorithm::{Algorithm, plan};
//! use broadcast::topology::Topology;
//! use units::Rate;
//!
//! let topology: Topology = serde_json::from_str(
//!     r#"{"nodes": [{"id": "source", "kind": "host"}, {"id": "switch", "kind": "switch"},
//!                   {"id": "fast", "kind": "host"}, {"id": "slow", "kind": "host"}],
//!         "links": [{"a": "source", "b": "switch", "ab": 100000000, "ba": 100000000},
//!                   {"a": "fast", "b": "switch", "ab": 100000000, "ba": 100000000},
//!                   {"a": "slow", "b": "switch", "ab": 10000000, "ba": 10000000}]}"#,
//! )?;
//! let [source, fast, slow] = ["source", "fast", "slow"].map(|name| topology.node(name).expect("a host"));
//! let plan = plan(Algorithm::Stable, &topology, source, &[fast, slow], 1)?;
//! assert_eq!(plan.rates(), [Rate::from_bps(100_000_000), Rate::from_bps(10_000_000)]);
//! assert_eq!(plan.aggregate(), Rate::from_bps(110_000_000));
//! assert_eq!(plan.trees().map(|tree| tree.len()).collect::<Vec<_>>(), [2, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod algorithm;
pub mod arborescence;
pub mod assign;
pub mod bound;
pub mod check;
mod dijkstra;
mod elastic;
mod flat;
mod flow;
mod fpfr;
pub mod infer;
mod near;
mod pipeline;
pub mod plan;
pub mod plan_data;
pub mod probe;
mod residual;
mod route;
mod slots;
mod stable;
pub mod stages;
pub mod topology;
pub mod transfer;
mod tree_search;
