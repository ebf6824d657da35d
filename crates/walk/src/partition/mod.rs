//! Which server owns which node, unevenly if need be, and the part of the graph that each server holds.

pub(crate) mod members;
mod owners;
mod part;

pub use owners::{Partition, PartitionError};
pub use part::ServerPart;
