//! Jobs of a scenario as those of [`traffic`].

use crate::names::Names;
use crate::problem::Problem;
use crate::spec::{Carrier, CoflowSpec, FlowSpec, Order, Work};
use fabric::Graph;
use process::HostId;
use rand::Rng;
use sim::HostConfig;
use traffic::{Cdf, Coflow, Flow, HostInfo, Job, Processes};
use units::{Bytes, Rate};

/// What jobs have to know of hosts.
pub(super) fn host_infos(graph: &Graph, hosts: &[HostConfig]) -> Vec<HostInfo> {
    let mut rates = vec![0u64; graph.nodes()];
    for link in graph.links() {
        for (end, props) in [(link.a, link.ab), (link.b, link.ba)] {
            let rate = &mut rates[end.0 as usize];
            *rate = rate.saturating_add(props.rate.as_bps());
        }
    }
    let info = |(host, rate): (&HostConfig, &u64)| HostInfo {
        rate: Rate::from_bps(*rate),
        mtu: Bytes::new(u64::from(host.mtu)),
    };
    hosts.iter().zip(&rates).map(info).collect()
}

/// The kind of a job, as scenarios call it.
pub(super) fn kind(work: &Work) -> &'static str {
    match work {
        Work::Bulk { .. } => "bulk",
        Work::Incast { .. } => "incast",
        Work::Permutation { .. } => "permutation",
        Work::AllToAll { .. } => "all-to-all",
        Work::Load { .. } => "load",
        Work::Replay { .. } => "replay",
        Work::Coflows { .. } => "coflows",
        Work::Background { .. } => "background",
        Work::Shuffle(_) => "shuffle",
        Work::Walk(_) => "walk",
        Work::Broadcast(_) => "broadcast",
        Work::Mine(_) => "mine",
        Work::Farmem(_) => "farmem",
    }
}

/// The processes of a generic job.
pub(super) fn processes(
    work: &Work,
    names: &Names<'_>,
    hosts: &[HostInfo],
    draws: &mut dyn Rng,
    port: u16,
    path: &str,
) -> Result<Processes, Problem> {
    let path = format!("{path}.work");
    let job = generic(work, &Look { names, path: &path })?;
    traffic::build(&job, hosts, draws, port).map_err(|error| Problem::new(path, error))
}

/// A job with its hosts looked up.
fn generic(work: &Work, look: &Look<'_>) -> Result<Job, Problem> {
    let path = look.path;
    Ok(match work {
        Work::Bulk { pairs, bytes } => Job::Bulk { pairs: look.pairs(pairs)?, bytes: bytes.get() },
        Work::Incast { senders, receiver, bytes, rounds } => Job::Incast {
            senders: look.hosts(senders, "senders")?,
            receiver: look.host(receiver, "receiver")?,
            bytes: bytes.get(),
            rounds: *rounds,
        },
        Work::Permutation { hosts, bytes } => {
            Job::Permutation { hosts: look.hosts(hosts, "hosts")?, bytes: bytes.get() }
        }
        Work::AllToAll { hosts, bytes, parallel, order, skew } => {
            let order = match order {
                Order::Rotated => traffic::Order::Rotated,
                Order::Same => traffic::Order::Same,
            };
            Job::AllToAll {
                hosts: look.hosts(hosts, "hosts")?,
                bytes: bytes.get(),
                parallel: *parallel,
                order,
                skew: *skew,
            }
        }
        Work::Load { hosts, sizes, load, duration } => Job::Load {
            hosts: look.hosts(hosts, "hosts")?,
            sizes: Cdf::new(sizes).map_err(|error| Problem::new(format!("{path}.sizes"), error))?,
            load: *load,
            duration: *duration,
        },
        Work::Replay { flows } => Job::Replay { flows: look.each(flows, "flows", flow)? },
        Work::Coflows { coflows } => Job::Coflows { coflows: look.each(coflows, "coflows", coflow)? },
        Work::Background { pairs, rate, over, duration, .. } => Job::Background {
            pairs: look.pairs(pairs)?,
            rate: *rate,
            over: match over {
                Carrier::Udp => traffic::Carrier::Udp,
                Carrier::Tcp => traffic::Carrier::Tcp,
            },
            duration: *duration,
        },
        Work::Shuffle(_) | Work::Walk(_) | Work::Broadcast(_) | Work::Mine(_) | Work::Farmem(_) => {
            unreachable!("they have crates of their own")
        }
    })
}

/// Looks names up, and says where an unknown one stands.
pub(super) struct Look<'a> {
    pub names: &'a Names<'a>,
    pub path: &'a str,
}

impl Look<'_> {
    pub(super) fn host(&self, name: &str, field: &str) -> Result<HostId, Problem> {
        self.names.host(name, || format!("{}.{field}", self.path))
    }

    pub(super) fn hosts(&self, names: &[String], field: &str) -> Result<Vec<HostId>, Problem> {
        let host = |(i, name): (usize, &String)| self.host(name, &format!("{field}[{i}]"));
        names.iter().enumerate().map(host).collect()
    }

    fn pairs(&self, pairs: &[(String, String)]) -> Result<Vec<(HostId, HostId)>, Problem> {
        let pair = |(i, (from, to)): (usize, &(String, String))| {
            Ok((self.host(from, &format!("pairs[{i}][0]"))?, self.host(to, &format!("pairs[{i}][1]"))?))
        };
        pairs.iter().enumerate().map(pair).collect()
    }

    fn each<T, U>(
        &self,
        items: &[T],
        field: &str,
        one: fn(&Look<'_>, &T) -> Result<U, Problem>,
    ) -> Result<Vec<U>, Problem> {
        let item = |(i, item): (usize, &T)| {
            let path = format!("{}.{field}[{i}]", self.path);
            one(&Look { names: self.names, path: &path }, item)
        };
        items.iter().enumerate().map(item).collect()
    }
}

fn flow(look: &Look<'_>, flow: &FlowSpec) -> Result<Flow, Problem> {
    let (from, to) = (look.host(&flow.from, "from")?, look.host(&flow.to, "to")?);
    Ok(Flow { at: flow.at, from, to, bytes: flow.bytes, group: flow.group })
}

fn coflow(look: &Look<'_>, coflow: &CoflowSpec) -> Result<Coflow<HostId>, Problem> {
    let reducer = |(i, (name, bytes)): (usize, &(String, u64))| {
        Ok((look.host(name, &format!("reducers[{i}][0]"))?, *bytes))
    };
    Ok(Coflow {
        id: coflow.id,
        at: coflow.at,
        mappers: look.hosts(&coflow.mappers, "mappers")?,
        reducers: coflow.reducers.iter().enumerate().map(reducer).collect::<Result<_, _>>()?,
    })
}
