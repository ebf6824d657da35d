//! TeraSort on Hadoop: its settings, and how long its parts take on a host.

use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Time};

/// TeraSort on MapReduce or Tez.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// What runs its tasks.
    pub framework: Framework,
    /// Input; so much is shuffled and written too.
    pub bytes: Bytes,
    /// HDFS block: a map reads one.
    pub block: Bytes,
    /// Where the application master and the metadata are.
    pub master: String,
    /// Where containers run.
    pub compute: Vec<String>,
    /// Where blocks are.
    pub data: Vec<String>,
    /// Where containers' logs go.
    pub log_nodes: Vec<String>,
    /// Containers that a compute node runs at a time.
    pub slots: u32,
    /// Reduce tasks.
    pub reduces: u32,
    /// Copies of each input block.
    pub input_replication: u32,
    /// Copies of the output.
    pub output_replication: u32,
    /// Log that a container uploads at its end; 0: none.
    pub log_bytes: Bytes,
    /// Fetches that a reduce has open at a time.
    pub parallel_copies: u32,
    /// Parts of the maps after which reduces begin to be started, and after which all may be.
    pub slow_start: (f64, f64),
    /// A map's sort buffer.
    pub io_sort: Bytes,
    /// Memory of a reduce.
    pub reduce_memory: Bytes,
    /// Part of the memory that fetched map output may fill.
    pub shuffle_buffer: f64,
    /// Part of that buffer at which it is merged to disk.
    pub merge_at: f64,
    /// How long things take on a host.
    pub costs: ShuffleCosts,
}

/// What runs the tasks of a [`Shuffle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framework {
    /// A container a task.
    Mapreduce,
    /// Containers are used again.
    Tez,
}

/// How long the parts of a [`Shuffle`] take on a host; rates are a core's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShuffleCosts {
    /// Map function.
    pub map_rate: Rate,
    /// Sorting a full buffer.
    pub sort_rate: Rate,
    /// Merging sorted runs.
    pub merge_rate: Rate,
    /// Reduce function.
    pub reduce_rate: Rate,
    /// A task's rates differ from these by up to this part.
    pub variation: f64,
    /// Part of what is read back from the local disk that the page cache answers.
    pub page_cache: f64,
    /// The client submits the job.
    pub job_submit: Time,
    /// The application master starts.
    pub master_start: Time,
    /// Calls that the application master makes over its compute node's link when it starts.
    pub master_rpcs: u32,
    /// A container starts.
    pub container_start: Time,
    /// Calls to the master by which a node gets the job's files: its first containers wait for them.
    pub localisation_rpcs: u32,
    /// Calls to the master that a new container makes before its task starts.
    pub container_rpcs: u32,
    /// A task starts in its container.
    pub task_setup: Time,
    /// A task commits its output.
    pub task_commit: Time,
    /// Calls to the master that a map makes, half at its start, half at its commit.
    pub map_rpcs: u32,
    /// Calls to the master that a reduce makes, half at its start, half at its commit.
    pub reduce_rpcs: u32,
    /// The job commits its output.
    pub job_commit: Time,
    /// Calls that the application master makes over its compute node's link when the job commits.
    pub commit_rpcs: u32,
    /// Time between a node's heartbeats.
    pub heartbeat: Time,
    /// Time between a node's questions for finished maps.
    pub umbilical: Time,
    /// Containers that an answer to a heartbeat assigns at most.
    pub assignments: u32,
    /// A transfer without progress for so long is tried anew.
    pub socket_timeout: Time,
    /// A node where a fetch failed is left alone for so long.
    pub fetch_penalty: Time,
    /// A node that is silent for so long is lost.
    pub node_expiry: Time,
}
