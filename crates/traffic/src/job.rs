//! The checks that refuse a job that can't run.

use crate::settings::{AllToAll, Background, Bulk, Carrier, Coflows, Incast, Job, Load, Permutation, Replay};
use crate::{Cdf, Coflow};
use process::HostId;
use units::{Bytes, Problem, Rate};

/// A job of more flows is refused: its list of demands alone would take gigabytes.
pub const FLOWS_MAX: u64 = 50_000_000;

/// IPv4 and TCP headers, without options.
pub(crate) const TCP_HEADERS: u64 = 40;
/// IPv4 and UDP headers.
pub(crate) const UDP_HEADERS: u64 = 28;

/// What a job has to know about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostInfo {
    /// Rate of its link.
    pub rate: Rate,
    /// Largest IP packet that it sends.
    pub mtu: Bytes,
}

impl Job {
    /// Refuses a job that can't run on `hosts`.
    pub(crate) fn check(&self, hosts: &[HostInfo]) -> Result<(), Problem> {
        self.volumes(hosts)?.into_iter().zip(hosts).try_for_each(|((host, bytes), info)| {
            info.rate.carries_in_a_run(bytes, format_args!("host number {}", host.0))
        })
    }

    /// The bytes that each host sends or receives, whichever are more, as far as they are known before. No
    /// run sees the end of more than a host's links carry until the longest one is over.
    ///
    /// # Errors
    /// A job that can't run on `hosts`, whatever it sends.
    pub fn volumes(&self, hosts: &[HostInfo]) -> Result<Vec<(HostId, f64)>, Problem> {
        self.check_form(hosts)?;
        let mut volumes = Volumes(vec![(0.0, 0.0); hosts.len()]);
        self.add_volumes(&mut volumes);
        let more = |(host, (sent, received))| (HostId(host), f64::max(sent, received));
        Ok((0..).zip(volumes.0).map(more).collect())
    }

    /// Adds what hosts send and receive, as far as it is known before.
    fn add_volumes(&self, volumes: &mut Volumes) {
        match self {
            Job::Bulk(Bulk { pairs, bytes }) => {
                pairs.iter().for_each(|(from, to)| volumes.add(*from, *to, *bytes as f64));
            }
            Job::Incast(Incast { senders, receiver, bytes, rounds }) => {
                let bytes = *bytes as f64 * f64::from(*rounds);
                senders.iter().for_each(|sender| volumes.add(*sender, *receiver, bytes));
            }
            Job::Permutation(Permutation { hosts: members, bytes }) => {
                members.iter().for_each(|host| volumes.add(*host, *host, *bytes as f64));
            }
            Job::AllToAll(AllToAll { hosts: members, bytes, .. }) => {
                let bytes = *bytes as f64 * (members.len() - 1) as f64;
                members.iter().for_each(|host| volumes.add(*host, *host, bytes));
            }
            Job::Replay(Replay { flows }) => {
                flows.iter().for_each(|flow| volumes.add(*flow.from, *flow.to, flow.bytes as f64));
            }
            Job::Coflows(Coflows { coflows }) => coflows.iter().for_each(|coflow| {
                for (to, bytes) in &coflow.reducers {
                    let part = *bytes as f64 / coflow.mappers.len() as f64;
                    coflow.mappers.iter().for_each(|from| volumes.add(*from, *to, part));
                }
            }),
            Job::Load(_) | Job::Background(_) => {}
        }
    }

    fn check_form(&self, hosts: &[HostInfo]) -> Result<(), Problem> {
        match self {
            Job::Bulk(Bulk { pairs, .. }) => known_pairs(pairs, hosts),
            Job::Incast(Incast { senders, receiver, rounds, .. }) => {
                not_empty("senders", senders.len())?;
                distinct("senders", senders, hosts)?;
                known(*receiver, hosts)?;
                positive("rounds", u64::from(*rounds))?;
                if senders.contains(receiver) {
                    return Err(Problem::new(
                        "receiver",
                        format!("host number {} is one of the senders too", receiver.0),
                    ));
                }
                Ok(())
            }
            Job::Permutation(Permutation { hosts: members, .. }) => group(members, hosts),
            Job::AllToAll(AllToAll { hosts: members, parallel, .. }) => {
                group(members, hosts)?;
                positive("parallel", u64::from(*parallel))?;
                few(members.len() as f64 * (members.len() - 1) as f64)
            }
            Job::Load(Load { hosts: members, sizes, load, duration }) => {
                group(members, hosts)?;
                if !load.is_finite() || *load <= 0.0 {
                    return Err(Problem::new("load", format!("{load}: it must be a number above 0")));
                }
                let rate = total_rate(members, hosts);
                positive("hosts", rate.as_bps())?;
                let sizes = job_sizes(sizes)?;
                few(duration.as_ps() as f64 / crate::demand::mean_gap_ps(rate, &sizes, *load))
            }
            Job::Replay(Replay { flows }) => {
                not_empty("flows", flows.len())?;
                flows.hosts().iter().try_for_each(|host| known(*host, hosts))?;
                few(flows.len() as f64)
            }
            Job::Coflows(Coflows { coflows }) => check_coflows(coflows, hosts),
            Job::Background(Background { pairs, rate, over, .. }) => {
                known_pairs(pairs, hosts)?;
                positive("rate", rate.as_bps())?;
                pairs.iter().try_for_each(|(from, _)| room_for_data(*from, *over, hosts))
            }
        }
    }
}

/// The distribution of a load's sizes.
pub(crate) fn job_sizes(points: &[(u64, f64)]) -> Result<Cdf, Problem> {
    Cdf::new(points).map_err(|error| Problem::new("sizes", error))
}

/// Sum of the members' link rates.
pub(crate) fn total_rate(members: &[HostId], hosts: &[HostInfo]) -> Rate {
    let sum = members.iter().fold(0u64, |sum, host| sum.saturating_add(hosts[host.0 as usize].rate.as_bps()));
    Rate::from_bps(sum)
}

fn check_coflows(coflows: &[Coflow<HostId>], hosts: &[HostInfo]) -> Result<(), Problem> {
    not_empty("coflows", coflows.len())?;
    for coflow in coflows {
        not_empty("mappers", coflow.mappers.len())?;
        not_empty("reducers", coflow.reducers.len())?;
        coflow.mappers.iter().try_for_each(|host| known(*host, hosts))?;
        coflow.reducers.iter().try_for_each(|(host, _)| known(*host, hosts))?;
    }
    few(coflows.iter().map(|coflow| coflow.mappers.len() as f64 * coflow.reducers.len() as f64).sum())
}

fn room_for_data(host: HostId, over: Carrier, hosts: &[HostInfo]) -> Result<(), Problem> {
    let least = 1 + match over {
        Carrier::Udp => UDP_HEADERS,
        Carrier::Tcp => TCP_HEADERS,
    };
    let mtu = hosts[host.0 as usize].mtu;
    if mtu.get() >= least {
        return Ok(());
    }
    let message = format!("host number {} has an MTU of {mtu}: at least {least} bytes are needed", host.0);
    Err(Problem::whole(message))
}

/// Bytes that each host sends and receives.
struct Volumes(Vec<(f64, f64)>);

impl Volumes {
    fn add(&mut self, from: HostId, to: HostId, bytes: f64) {
        self.0[from.0 as usize].0 += bytes;
        self.0[to.0 as usize].1 += bytes;
    }
}

fn few(flows: f64) -> Result<(), Problem> {
    if flows <= FLOWS_MAX as f64 {
        return Ok(());
    }
    let message = format!("the job has about {flows:.0} flows: at most {FLOWS_MAX} are allowed");
    Err(Problem::whole(message))
}

fn positive(field: &'static str, n: u64) -> Result<(), Problem> {
    if n == 0 { Err(Problem::new(field, "zero: it must be above zero")) } else { Ok(()) }
}

fn not_empty(field: &'static str, entries: usize) -> Result<(), Problem> {
    if entries == 0 { Err(Problem::new(field, "empty: at least one entry is needed")) } else { Ok(()) }
}

fn known(host: HostId, hosts: &[HostInfo]) -> Result<(), Problem> {
    if (host.0 as usize) < hosts.len() {
        return Ok(());
    }
    let message = format!("host number {} does not exist: the topology has {} hosts", host.0, hosts.len());
    Err(Problem::whole(message))
}

fn known_pairs(pairs: &[(HostId, HostId)], hosts: &[HostInfo]) -> Result<(), Problem> {
    not_empty("pairs", pairs.len())?;
    pairs.iter().try_for_each(|(from, to)| known(*from, hosts).and(known(*to, hosts)))
}

fn distinct(field: &'static str, members: &[HostId], hosts: &[HostInfo]) -> Result<(), Problem> {
    members.iter().try_for_each(|host| known(*host, hosts))?;
    process::distinct(field, members)
}

fn group(members: &[HostId], hosts: &[HostInfo]) -> Result<(), Problem> {
    if members.len() < 2 {
        let message = format!("{} host takes part: at least 2 are needed", members.len());
        return Err(Problem::new("hosts", message));
    }
    distinct("hosts", members, hosts)
}
