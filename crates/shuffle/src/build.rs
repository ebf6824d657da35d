//! From a job to its processes.

use crate::data_node::DataNode;
use crate::job::Job;
use crate::master::Master;
use crate::node_manager::NodeManager;
use crate::prepared::PreparedJob;
use process::{HostId, Process};
use rand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Problem;

/// One process a host, in order of hosts.
pub type Processes = Vec<(HostId, Box<dyn Process>)>;

/// The processes of `job` on a topology of `hosts` hosts; every node listens on `port`. Places the input's
/// blocks with `rng`.
///
/// # Errors
/// When the job can't run.
pub fn build(job: Job, hosts: usize, rng: &mut dyn Rng, port: u16) -> Result<Processes, Problem> {
    job.check(hosts)?;
    let prepared = Arc::new(PreparedJob::new(job, port, rng));
    let mut processes: BTreeMap<HostId, Box<dyn Process>> = BTreeMap::new();
    processes.insert(prepared.job.master, Box::new(Master::new(Arc::clone(&prepared))));
    for host in &prepared.job.compute {
        processes.insert(*host, Box::new(NodeManager::new(Arc::clone(&prepared))));
    }
    let logs = if prepared.job.log_bytes > 0 { prepared.job.log_nodes.as_slice() } else { &[] };
    for host in prepared.job.data.iter().chain(logs) {
        processes.insert(*host, Box::new(DataNode::new(Arc::clone(&prepared))));
    }
    Ok(processes.into_iter().collect())
}
