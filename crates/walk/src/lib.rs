//! Random walks on a graph, in memory and spread unevenly over servers (document 000).
//!
//! [`graph`] holds arcs in compressed rows and changes them between batches of steps; [`partition`] says
//! which server owns which node and gives each server its part; [`step`] moves walkers; [`app`] turns
//! finished walks into results. Nothing here reads a file, a clock or a socket.
//!
//! Spread over servers, each of them is a [`server::Server`]: a [`process::Process`] that queues walkers
//! ([`queue`]), moves them on its [`territory::Territory`], and is the source of the walks that begin there,
//! which its [`ledger`] counts. [`settings`] has the readings of what the document leaves open.
//!
//! ```
//! use walk::graph::{Graph, Shape};
//! use walk::step::{Engine, Rule, Starts, Walk};
//!
//! // A ring of five nodes, and ten walks of three steps from each.
//! let ring = Graph::even(Shape::undirected(5), || (0..5).map(|node| (node, (node + 1) % 5)))?;
//! let mut finished = 0;
//! Engine::new(&ring, Rule::new(&Walk::fixed(3))?, 1)
//!     .ends(&Starts::all(ring.nodes(), 10), |block| finished += block.starts.len())?;
//! assert_eq!(finished, 50);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod app;
pub mod codel;
pub mod counters;
pub mod generator;
pub mod graph;
pub mod journal;
pub mod ledger;
pub mod loss;
pub mod mailbox;
pub mod outbox;
pub mod partition;
pub mod queue;
pub mod red;
pub mod seal;
pub mod server;
pub mod settings;
pub mod sink;
mod source;
pub mod step;
pub mod store;
pub mod territory;
pub mod wire;

#[cfg(test)]
mod tests;
