//! The miner over several nodes: Processes that are the same in the simulator and on sockets.
//!
//! Document 001, section 3.2, and NPA and HPA-ELD of its reference 9. A [`Node`] runs on each host with its
//! part of the transactions. In each pass it sends candidates to their owners, the owners decide which are
//! large and tell everybody; this broadcast is also the barrier between passes. Two nodes share one stream.
//! What a node sends in a stage follows from its transactions and from what is large so far, so parts of
//! messages are known by their numbers: none is counted twice, and a node that crashed is sent again what it
//! lacks. Finished passes are kept in a [`Journal`].
//!
//! What is counted and how is [`crate::work`].

mod board;
mod costs;
mod journal;
pub(crate) mod link;
mod machine;
mod passes;
mod peer;
mod receiving;
mod run;
mod sending;
pub(crate) mod settings;
pub(crate) mod stage;
pub(crate) mod wire;

pub use board::{Board, PassReport, Progress};
pub use costs::Costs;
pub use journal::{InMemory, Journal};
pub use machine::{Node, NodeSetup};
pub use settings::{Algorithm, BLOCK, Derived, Exchange, NODES_MAX, Order, Settings};
