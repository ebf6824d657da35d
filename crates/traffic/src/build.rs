//! From a checked job to one process a host.

use crate::background::{self, Datagrams, Span, Streams, Target};
use crate::demand::{self, Demands, PackedDemands};
use crate::incast::{Aggregator, Worker};
use crate::peer::Peer;
use crate::sender::Sender;
use crate::settings::{AllToAll, Background, Bulk, Carrier, Coflows, Incast, Job, Load, Permutation, Replay};
use crate::{HostInfo, job};
use process::{HostId, Process};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use units::{Problem, Time};

/// The processes of a job, by host.
pub type Processes = Vec<(HostId, Box<dyn Process>)>;

/// Checks `job` against the topology's `hosts`, draws what is random from `rng`, and returns one
/// process a host that takes part, in the order of hosts. All of them use `port`, for TCP or UDP:
/// jobs that run at the same time need different ones.
pub fn build(job: &Job, hosts: &[HostInfo], rng: &mut dyn Rng, port: u16) -> Result<Processes, Problem> {
    job.check(hosts)?;
    let unlimited = usize::MAX;
    Ok(match job {
        Job::Bulk(Bulk { pairs, bytes }) => peers(demand::bulk(pairs, *bytes), unlimited, port),
        Job::Incast(Incast { senders, receiver, bytes, rounds }) => {
            incast(senders, *receiver, *bytes, *rounds, port)
        }
        Job::Permutation(Permutation { hosts, bytes }) => {
            peers(demand::permutation(hosts, *bytes, rng), unlimited, port)
        }
        Job::AllToAll(AllToAll { hosts, bytes, parallel, order, skew }) => {
            peers(demand::all_to_all(hosts, *bytes, *order, *skew, rng), *parallel as usize, port)
        }
        Job::Load(Load { hosts: members, sizes, load, duration }) => {
            let rate = job::total_rate(members, hosts);
            let sizes = job::job_sizes(sizes)?;
            peers(demand::load(members, rate, &sizes, *load, *duration, rng), unlimited, port)
        }
        Job::Replay(Replay { flows }) => peers(demand::replay(flows), unlimited, port),
        Job::Coflows(Coflows { coflows }) => peers(demand::coflows(coflows), unlimited, port),
        Job::Background(background) => background.processes(hosts, rng, port),
    })
}

fn peers(mut demands: Demands, parallel: usize, port: u16) -> Processes {
    let receivers = demands.values().flat_map(PackedDemands::iter).map(|flow| flow.to);
    let members: BTreeSet<HostId> = receivers.chain(demands.keys().copied()).collect();
    let peer = |host| {
        let flows = demands.remove(&host).unwrap_or_default();
        (host, Box::new(Peer::new(port, Sender::new(flows, parallel, port))) as Box<dyn Process>)
    };
    members.into_iter().map(peer).collect()
}

fn incast(senders: &[HostId], receiver: HostId, bytes: u64, rounds: u32, port: u16) -> Processes {
    let worker = |&host| (host, Box::new(Worker::new(port, receiver, bytes)) as Box<dyn Process>);
    let mut processes: Processes = senders.iter().map(worker).collect();
    processes.push((receiver, Box::new(Aggregator::new(port, senders, rounds))));
    processes.sort_by_key(|(host, _)| *host);
    processes
}

impl Background {
    fn processes(&self, hosts: &[HostInfo], rng: &mut dyn Rng, port: u16) -> Processes {
        let mut targets: BTreeMap<HostId, Vec<Target>> = BTreeMap::new();
        for &(from, to) in &self.pairs {
            let interval = self.interval(hosts[from.0 as usize]);
            let phase = interval.mul_div(rng.next_u64() >> 32, 1 << 32);
            targets.entry(from).or_default().push(Target { to, phase });
            targets.entry(to).or_default();
        }
        let process =
            |(host, targets): (HostId, _)| (host, self.process(hosts[host.0 as usize], targets, port));
        targets.into_iter().map(process).collect()
    }

    fn interval(&self, host: HostInfo) -> Time {
        match self.over {
            Carrier::Udp => background::datagram_interval(host.mtu, self.rate),
            Carrier::Tcp => background::stream_interval(host.mtu, self.rate),
        }
    }

    fn process(&self, host: HostInfo, targets: Vec<Target>, port: u16) -> Box<dyn Process> {
        let span = Span::new(self.duration);
        match self.over {
            Carrier::Udp => Box::new(Datagrams::new(port, host.mtu, self.rate, targets, span)),
            Carrier::Tcp => Box::new(Streams::new(port, host.mtu, self.rate, targets, span)),
        }
    }
}
