//! Hadoop's TeraSort on MapReduce and on Tez, as Processes free of I/O.
//!
//! A [`Job`] is data, read from JSON with hosts by name; placed on hosts, [`build`] checks it, places the
//! input's blocks, and returns one [`process::Process`] a host: the application master, a NodeManager a
//! compute node, a DataNode a data node. Bulk data are bytes without content; control travels as small
//! messages over streams, so congestion delays it. What takes time on a host comes from a cost model
//! ([`Costs`]).
//!
//! Names and rules are Hadoop's (mapred-default.xml, hdfs-default.xml, yarn-default.xml; Tez's
//! configuration). The traffic it answers to is that of document 002, slides 35–39 and 78–79. What is left
//! out is in docs/explanation/shuffle.md.

mod block_server;
mod block_writer;
mod buffer;
mod build;
mod data_node;
mod env;
mod fetch;
mod job;
mod link;
mod map_task;
mod master;
mod master_calls;
mod node_manager;
mod pace;
mod plan;
mod receive;
mod reduce_task;
mod remote_calls;
mod schedule;
mod shuffle_handler;
mod wire;
mod work;

#[cfg(test)]
mod tests;

pub use build::{Processes, build};
pub use job::{Costs, Framework, Job};
