//! Topologies: any graph of hosts, switches and links, and builders of those that have a name.

mod builders;
mod graph;

pub use builders::{dumbbell, fat_tree, leaf_spine, single_switch};
pub use graph::{Graph, Link, LinkProps, TopologyError};
