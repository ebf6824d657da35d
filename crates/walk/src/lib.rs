//! Random walks on a graph, in memory and spread unevenly over servers (document 000).
//!
//! [`graph`] holds arcs in compressed rows and changes them between batches of steps; [`partition`] says which
//! server owns which node and gives each server its part; [`step`] moves walkers; [`app`] turns finished walks
//! into results. Nothing here reads a file, a clock or a socket.

pub mod app;
pub mod graph;
pub mod partition;
pub mod step;
