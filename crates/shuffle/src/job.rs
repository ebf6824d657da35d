//! A TeraSort job as data, and the checks that refuse one that can't run.

use process::{HostId, Hosts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Path, Problem, Rate, Time};

/// Maps and reduces of a job may be at most so many: a fetch for each pair of them is planned.
const PAIRS_MAX: u64 = 50_000_000;
/// Calls of a container, or of a task, may be at most so many: each is two messages.
const RPCS_MAX: u32 = 10_000;

/// What runs the job's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framework {
    /// A container a task, restarted.
    MapReduce,
    /// A graph of two vertices, map and reduce, whose containers are used again.
    Tez,
}

/// A TeraSort: as it is read, with hosts by their names (`String`), and as it is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job<H = HostId> {
    /// What runs it.
    pub framework: Framework,
    /// Input in bytes; so much is shuffled and written too.
    pub bytes: u64,
    /// HDFS block in bytes: a map reads one.
    pub block: u64,
    /// Where the application master and the metadata are.
    pub master: H,
    /// Where containers run.
    pub compute: Vec<H>,
    /// Where blocks are.
    pub data: Vec<H>,
    /// Where containers' logs go.
    pub log_nodes: Vec<H>,
    /// Containers that a compute node runs at a time.
    pub slots: u32,
    /// Reduce tasks.
    pub reduces: u32,
    /// Copies of each input block.
    pub input_replication: u32,
    /// Copies of the output.
    pub output_replication: u32,
    /// Bytes of log that a container uploads at its end; 0: none.
    pub log_bytes: u64,
    /// Fetches that a reduce has open at a time.
    pub parallel_copies: u32,
    /// Part of the maps after which reduces begin to be started, and after which all may be. MapReduce heeds
    /// the first and ramps up by its own rule.
    pub slow_start: (f64, f64),
    /// A map's sort buffer in bytes (`io.sort.mb`); it spills at 0.80.
    pub io_sort: u64,
    /// Memory of a reduce in bytes.
    pub reduce_memory: u64,
    /// Part of the memory that fetched map output may fill.
    pub shuffle_buffer: f64,
    /// Part of that buffer at which it is merged to disk.
    pub merge_at: f64,
    /// How long things take on a host.
    pub costs: Costs,
}

/// How long things take on a host. Rates are those of one core; disks have the host's rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Reading records and the map function.
    pub map_rate: Rate,
    /// Sorting a full buffer.
    pub sort_rate: Rate,
    /// Merging sorted runs.
    pub merge_rate: Rate,
    /// The reduce function and writing records.
    pub reduce_rate: Rate,
    /// A task's rates differ from these by up to this part, drawn for each task; 0 to 1, 1 excluded.
    pub variation: f64,
    /// Part of what is read back from the local disk that the page cache answers, 0 to 1.
    pub page_cache: f64,
    /// The client computes the splits and submits the job.
    pub job_submit: Time,
    /// The application master's container starts.
    pub master_start: Time,
    /// Calls that the application master makes over its compute node's link when it starts, one after the
    /// other.
    pub master_rpcs: u32,
    /// A container starts: localisation and a JVM.
    pub container_start: Time,
    /// Calls to the master by which a node gets the job's files: its first containers wait for them.
    pub localisation_rpcs: u32,
    /// Calls to the master that a new container makes before its task starts, one after the other.
    pub container_rpcs: u32,
    /// A task starts in its container.
    pub task_setup: Time,
    /// A task commits its output.
    pub task_commit: Time,
    /// Calls to the master that a map makes one after the other: half when it starts, half when it commits.
    pub map_rpcs: u32,
    /// Calls to the master that a reduce makes, as a map does.
    pub reduce_rpcs: u32,
    /// The job commits its output.
    pub job_commit: Time,
    /// Calls that the application master makes over its compute node's link when the job commits, one after
    /// the other.
    pub commit_rpcs: u32,
    /// Time between a NodeManager's heartbeats: containers are assigned in answer to them.
    pub heartbeat: Time,
    /// Time between the application master's heartbeats: it asks for containers with one and hears of them
    /// with a later one; 0: at once.
    pub master_heartbeat: Time,
    /// Time between a node's questions for finished maps on behalf of its reduces.
    pub umbilical: Time,
    /// Containers that an answer to a heartbeat assigns at most.
    pub assignments: u32,
    /// A transfer without progress for so long is given up and tried again.
    pub socket_timeout: Time,
    /// A fetch from a node where one failed waits for so long.
    pub fetch_penalty: Time,
    /// A node that is silent for so long is lost.
    pub node_expiry: Time,
}

fn refuse<T>(field: impl Into<Path>, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(field, message.into()))
}

impl Job<String> {
    /// The job on the hosts that it names.
    ///
    /// # Errors
    /// The first name that no host has.
    pub fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        Ok(Job {
            master: hosts.one(&self.master, "master")?,
            compute: hosts.all(&self.compute, "compute")?,
            data: hosts.all(&self.data, "data")?,
            log_nodes: hosts.all(&self.log_nodes, "log_nodes")?,
            framework: self.framework,
            bytes: self.bytes,
            block: self.block,
            slots: self.slots,
            reduces: self.reduces,
            input_replication: self.input_replication,
            output_replication: self.output_replication,
            log_bytes: self.log_bytes,
            parallel_copies: self.parallel_copies,
            slow_start: self.slow_start,
            io_sort: self.io_sort,
            reduce_memory: self.reduce_memory,
            shuffle_buffer: self.shuffle_buffer,
            merge_at: self.merge_at,
            costs: self.costs.clone(),
        })
    }
}

impl Job {
    /// Input blocks, and so maps.
    pub fn maps(&self) -> u64 {
        self.bytes.div_ceil(self.block.max(1))
    }

    /// Bytes that compute nodes read and that data nodes send, at least.
    pub fn volumes(&self) -> Vec<(HostId, f64)> {
        let shares = |hosts: &[HostId]| {
            let share = self.bytes as f64 / hosts.len() as f64;
            hosts.iter().map(|host| (*host, share)).collect::<Vec<_>>()
        };
        [shares(&self.compute), shares(&self.data)].concat()
    }

    /// Refuses a job that can't run on a topology of `hosts` hosts.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(&self, hosts: usize) -> Result<(), Problem> {
        self.check_roles(hosts)?;
        self.check_sizes()?;
        self.check_replication("input_replication", self.input_replication)?;
        self.check_replication("output_replication", self.output_replication)?;
        self.check_parts()?;
        self.costs.check().map_err(|problem| problem.within("costs"))
    }

    fn check_roles(&self, hosts: usize) -> Result<(), Problem> {
        let mut roles: BTreeMap<HostId, &'static str> = BTreeMap::from([(self.master, "the master")]);
        let lists = [("compute", "a compute node", &self.compute), ("data", "a data node", &self.data)];
        for (field, role, members) in lists {
            if members.is_empty() {
                return refuse(field, format!("no host: at least one is {role}"));
            }
            for host in members {
                if let Some(other) = roles.insert(*host, role) {
                    return refuse(
                        field,
                        format!("host number {} is {role} and {other}: one role a host", host.0),
                    );
                }
            }
        }
        if self.log_bytes > 0 && self.log_nodes.is_empty() {
            return refuse("log_nodes", "no host: logs need at least one to go to");
        }
        for host in &self.log_nodes {
            let role = roles.entry(*host).or_insert("a data node");
            if *role != "a data node" {
                let message = format!("host number {} takes in logs and is {role}: one role a host", host.0);
                return refuse("log_nodes", message);
            }
        }
        match roles.keys().find(|host| host.0 as usize >= hosts) {
            Some(host) => {
                refuse("compute", format!("host number {} does not exist: there are {hosts}", host.0))
            }
            None => Ok(()),
        }
    }

    fn check_sizes(&self) -> Result<(), Problem> {
        let numbers = [
            ("bytes", self.bytes),
            ("block", self.block),
            ("slots", u64::from(self.slots)),
            ("reduces", u64::from(self.reduces)),
            ("parallel_copies", u64::from(self.parallel_copies)),
            ("io_sort", self.io_sort),
            ("reduce_memory", self.reduce_memory),
        ];
        for (field, number) in numbers {
            if number == 0 {
                return refuse(field, "0: at least 1 is needed");
            }
        }
        let pairs = self.maps().saturating_mul(u64::from(self.reduces));
        if pairs > PAIRS_MAX {
            let message =
                format!("{} maps and {} reduces: at most {PAIRS_MAX} pairs", self.maps(), self.reduces);
            return refuse("block", message);
        }
        Ok(())
    }

    fn check_replication(&self, field: &'static str, copies: u32) -> Result<(), Problem> {
        let nodes = self.data.len();
        if (1..=nodes.min(crate::wire::LIST_MAX)).contains(&(copies as usize)) {
            return Ok(());
        }
        refuse(field, format!("{copies}: 1 to {nodes} are allowed, as there are {nodes} data nodes"))
    }

    fn check_parts(&self) -> Result<(), Problem> {
        let (from, to) = self.slow_start;
        if !((0.0..=1.0).contains(&from) && (from..=1.0).contains(&to)) {
            return refuse("slow_start", format!("{from} to {to}: 0 to 1, the first not above the second"));
        }
        for (field, part) in [("shuffle_buffer", self.shuffle_buffer), ("merge_at", self.merge_at)] {
            if !(part > 0.0 && part <= 1.0) {
                return refuse(field, format!("{part}: above 0 and at most 1"));
            }
        }
        Ok(())
    }
}

impl Costs {
    fn check(&self) -> Result<(), Problem> {
        if self.assignments == 0 {
            return refuse("assignments", "0: at least 1 is needed");
        }
        let rates = [
            ("map_rate", self.map_rate),
            ("sort_rate", self.sort_rate),
            ("merge_rate", self.merge_rate),
            ("reduce_rate", self.reduce_rate),
        ];
        for (field, rate) in rates {
            if rate.as_bps() < 1_000 {
                return refuse(field, format!("{rate}: at least 1 kbps"));
            }
        }
        let times = [
            ("heartbeat", self.heartbeat),
            ("umbilical", self.umbilical),
            ("socket_timeout", self.socket_timeout),
            ("fetch_penalty", self.fetch_penalty),
        ];
        for (field, time) in times {
            if time < Time::from_us(100) {
                return refuse(field, format!("{time}: at least 100us"));
            }
        }
        if (Time::from_ps(1)..Time::from_us(100)).contains(&self.master_heartbeat) {
            return refuse("master_heartbeat", format!("{}: 0s or at least 100us", self.master_heartbeat));
        }
        let calls = [
            ("master_rpcs", self.master_rpcs),
            ("localisation_rpcs", self.localisation_rpcs),
            ("container_rpcs", self.container_rpcs),
            ("map_rpcs", self.map_rpcs),
            ("reduce_rpcs", self.reduce_rpcs),
            ("commit_rpcs", self.commit_rpcs),
        ];
        for (field, calls) in calls {
            if calls > RPCS_MAX {
                return refuse(field, format!("{calls}: at most {RPCS_MAX}"));
            }
        }
        if self.node_expiry <= self.heartbeat {
            return refuse("node_expiry", format!("{}: more than a heartbeat is needed", self.node_expiry));
        }
        if !(0.0..1.0).contains(&self.variation) {
            return refuse("variation", format!("{}: 0 to 1, 1 excluded", self.variation));
        }
        if !(0.0..=1.0).contains(&self.page_cache) {
            return refuse("page_cache", format!("{}: 0 to 1", self.page_cache));
        }
        Ok(())
    }
}
