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
//!
//! Two compute nodes sort 64 MiB whose blocks are on one data node. Sizes are in bytes, rates in bits per
//! second and times in picoseconds:
//!
//! ```
//! use process::{HostId, Hosts, rng};
//!
//! struct Cluster;
//! impl Hosts for Cluster {
//!     fn find(&self, name: &str) -> Result<HostId, String> {
//!         let at = ["master", "compute0", "compute1", "data"].iter().position(|host| *host == name);
//!         at.map(|at| HostId(at as u32)).ok_or_else(|| format!("no host is called {name}"))
//!     }
//! }
//!
//! let job: shuffle::Job<String> = serde_json::from_str(r#"{
//!     "framework": "mapreduce", "bytes": 67108864, "block": 8388608, "master": "master",
//!     "compute": ["compute0", "compute1"], "data": ["data"], "log_nodes": [], "slots": 2, "reduces": 3,
//!     "input_replication": 1, "output_replication": 1, "log_bytes": 0, "parallel_copies": 5,
//!     "slow_start": [0.05, 1], "io_sort": 5242880, "reduce_memory": 8388608, "shuffle_buffer": 0.7,
//!     "merge_at": 0.66, "costs": {
//!         "map_rate": 800000000, "sort_rate": 1600000000, "merge_rate": 3200000000,
//!         "reduce_rate": 800000000, "variation": 0.2, "page_cache": 0.5, "job_submit": 100000000000,
//!         "master_start": 100000000000, "master_rpcs": 4, "container_start": 100000000000,
//!         "localisation_rpcs": 0, "container_rpcs": 3, "task_setup": 10000000000,
//!         "task_commit": 10000000000, "map_rpcs": 5, "reduce_rpcs": 6,
//!         "job_commit": 10000000000, "commit_rpcs": 2, "heartbeat": 100000000000,
//!         "master_heartbeat": 0, "umbilical": 50000000000,
//!         "assignments": 100, "socket_timeout": 5000000000000, "fetch_penalty": 1000000000000,
//!         "node_expiry": 20000000000000}}"#)?;
//! let job = job.place(&Cluster)?;
//! assert_eq!(job.maps(), 8, "one per block");
//! assert_eq!(shuffle::build(job, 4, &mut rng::stream(1, "blocks"), 5000)?.len(), 4, "one per host");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
mod prepared;
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
