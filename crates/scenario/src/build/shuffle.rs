//! TeraSort jobs of a scenario as those of [`shuffle`].

use super::jobs::Look;
use crate::names::Names;
use crate::problem::Problem;
use crate::spec::{Framework, Shuffle, ShuffleCosts};
use rand::Rng;
use shuffle::{Costs, Job, Processes};

/// The processes of a job, with its hosts looked up and its blocks placed.
pub(super) fn processes(
    spec: &Shuffle,
    names: &Names<'_>,
    hosts: usize,
    draws: &mut dyn Rng,
    port: u16,
    path: &str,
) -> Result<Processes, Problem> {
    let path = format!("{path}.work");
    let job = job(spec, &Look { names, path: &path })?;
    shuffle::build(job, hosts, draws, port)
        .map_err(|error| Problem::new(format!("{path}.{}", error.field), error.message))
}

fn job(spec: &Shuffle, look: &Look<'_>) -> Result<Job, Problem> {
    Ok(Job {
        framework: match spec.framework {
            Framework::Mapreduce => shuffle::Framework::MapReduce,
            Framework::Tez => shuffle::Framework::Tez,
        },
        bytes: spec.bytes.get(),
        block: spec.block.get(),
        master: look.host(&spec.master, "master")?,
        compute: look.hosts(&spec.compute, "compute")?,
        data: look.hosts(&spec.data, "data")?,
        log_nodes: look.hosts(&spec.log_nodes, "log_nodes")?,
        slots: spec.slots,
        reduces: spec.reduces,
        input_replication: spec.input_replication,
        output_replication: spec.output_replication,
        log_bytes: spec.log_bytes.get(),
        parallel_copies: spec.parallel_copies,
        slow_start: spec.slow_start,
        io_sort: spec.io_sort.get(),
        reduce_memory: spec.reduce_memory.get(),
        shuffle_buffer: spec.shuffle_buffer,
        merge_at: spec.merge_at,
        costs: costs(&spec.costs),
    })
}

fn costs(spec: &ShuffleCosts) -> Costs {
    Costs {
        map_rate: spec.map_rate,
        sort_rate: spec.sort_rate,
        merge_rate: spec.merge_rate,
        reduce_rate: spec.reduce_rate,
        variation: spec.variation,
        page_cache: spec.page_cache,
        job_submit: spec.job_submit,
        master_start: spec.master_start,
        master_rpcs: spec.master_rpcs,
        container_start: spec.container_start,
        localisation_rpcs: spec.localisation_rpcs,
        container_rpcs: spec.container_rpcs,
        task_setup: spec.task_setup,
        task_commit: spec.task_commit,
        map_rpcs: spec.map_rpcs,
        reduce_rpcs: spec.reduce_rpcs,
        job_commit: spec.job_commit,
        commit_rpcs: spec.commit_rpcs,
        heartbeat: spec.heartbeat,
        umbilical: spec.umbilical,
        assignments: spec.assignments,
        socket_timeout: spec.socket_timeout,
        fetch_penalty: spec.fetch_penalty,
        node_expiry: spec.node_expiry,
    }
}
