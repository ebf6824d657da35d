//! The generic jobs of [`traffic`], whose streams and datagrams are in the tables that every driver writes, and
//! background traffic as a fluid.

use super::Work;
use super::kind::{Cast, Kind, Place};
use fabric::Graph;
use process::{HostId, Hosts};
use serde::{Deserialize, Serialize};
use sim::{FluidSetup, HostConfig};
use traffic::{Carrier, Cdf, HostInfo, Job};
use units::{Bytes, Problem, Rate};

/// How background traffic is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Packet by packet.
    Packets,
    /// A rate at each port on its way; datagrams only.
    Fluid,
}

impl Kind for Work {
    fn name(&self) -> &'static str {
        match self {
            Work::Bulk { .. } => "bulk",
            Work::Incast { .. } => "incast",
            Work::Permutation { .. } => "permutation",
            Work::AllToAll { .. } => "all-to-all",
            Work::Load { .. } => "load",
            Work::Replay { .. } => "replay",
            Work::Coflows { .. } => "coflows",
            Work::Background { .. } => "background",
            work => work.kind().name(),
        }
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let (job, infos) = (generic(self, place.names)?, host_infos(place.graph, place.hosts));
        let processes = traffic::build(&job, &infos, &mut place.draws, place.port);
        let processes = processes.map_err(|error| Problem::new("", error))?;
        // A fluid is checked as packets are, but has none.
        Ok(Cast::silent(if self.is_fluid() { Vec::new() } else { processes }))
    }

    fn opens_again(&self) -> bool {
        false
    }

    fn is_background(&self) -> bool {
        matches!(self, Work::Background { .. })
    }

    fn is_fluid(&self) -> bool {
        matches!(self, Work::Background { model: Model::Fluid, .. })
    }

    fn fluids(&self, place: &Place<'_>) -> Result<Vec<FluidSetup>, Problem> {
        let Work::Background { pairs, rate, over, model: Model::Fluid, duration } = self else {
            return Ok(Vec::new());
        };
        if *over == Carrier::Tcp {
            let message = "a fluid is what nothing slows down: over udp is needed";
            return Err(Problem::new("model", message));
        }
        let fluid = |(from, to): (HostId, HostId)| FluidSetup {
            from: from.0,
            to: to.0,
            rate: *rate,
            packet_bytes: place.hosts[from.0 as usize].mtu.min(u32::from(u16::MAX)) as u16,
            port: sim::home_port(place.name),
            start: place.start,
            end: duration.map(|duration| place.start + duration),
        };
        Ok(self::pairs(place.names, pairs)?.into_iter().map(fluid).collect())
    }
}

/// What jobs have to know of hosts.
fn host_infos(graph: &Graph, hosts: &[HostConfig]) -> Vec<HostInfo> {
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

/// A job with its hosts looked up.
fn generic(work: &Work, look: &dyn Hosts) -> Result<Job, Problem> {
    Ok(match work {
        Work::Bulk { pairs, bytes } => Job::Bulk { pairs: self::pairs(look, pairs)?, bytes: bytes.get() },
        Work::Incast { senders, receiver, bytes, rounds } => Job::Incast {
            senders: look.all(senders, "senders")?,
            receiver: look.one(receiver, "receiver")?,
            bytes: bytes.get(),
            rounds: *rounds,
        },
        Work::Permutation { hosts, bytes } => {
            Job::Permutation { hosts: look.all(hosts, "hosts")?, bytes: bytes.get() }
        }
        Work::AllToAll { hosts, bytes, parallel, order, skew } => Job::AllToAll {
            hosts: look.all(hosts, "hosts")?,
            bytes: bytes.get(),
            parallel: *parallel,
            order: *order,
            skew: *skew,
        },
        Work::Load { hosts, sizes, load, duration } => Job::Load {
            hosts: look.all(hosts, "hosts")?,
            sizes: Cdf::new(sizes).map_err(|error| Problem::new("sizes", error))?,
            load: *load,
            duration: *duration,
        },
        Work::Replay { flows } => Job::Replay { flows: each(flows, "flows", |flow| flow.place(look))? },
        Work::Coflows { coflows } => {
            Job::Coflows { coflows: each(coflows, "coflows", |coflow| coflow.on(look))? }
        }
        Work::Background { pairs, rate, over, duration, .. } => Job::Background {
            pairs: self::pairs(look, pairs)?,
            rate: *rate,
            over: *over,
            duration: *duration,
        },
        Work::Rpc(_)
        | Work::Shuffle(_)
        | Work::Walk(_)
        | Work::Broadcast(_)
        | Work::Mine(_)
        | Work::Farmem(_) => {
            unreachable!("they have crates of their own")
        }
    })
}

fn pairs(look: &dyn Hosts, pairs: &[(String, String)]) -> Result<Vec<(HostId, HostId)>, Problem> {
    let pair = |(i, (from, to)): (usize, &(String, String))| {
        Ok((look.one(from, &format!("pairs[{i}][0]"))?, look.one(to, &format!("pairs[{i}][1]"))?))
    };
    pairs.iter().enumerate().map(pair).collect()
}

fn each<T, U>(items: &[T], field: &str, one: impl Fn(&T) -> Result<U, Problem>) -> Result<Vec<U>, Problem> {
    let item = |(i, item)| one(item).map_err(|error| error.within(&format!("{field}[{i}]")));
    items.iter().enumerate().map(item).collect()
}
