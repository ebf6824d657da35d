//! A job as data, and the checks that refuse one that can't run.

use crate::{Cdf, Coflow};
use process::{HostId, Hosts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use units::{Bytes, Problem, Rate, Time};

/// A job of more flows is refused: its plan alone would take gigabytes.
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

/// How background traffic travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Datagrams of the host's MTU, evenly spaced; nothing slows them down.
    Udp,
    /// A stream that is written to at the rate.
    Tcp,
}

/// The order in which a host sends to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each begins with the host after it, so that receivers are not met by all at the same time.
    Rotated,
    /// All begin with the first host.
    Same,
}

/// A flow to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow<H = HostId> {
    /// When it begins, since the job's start.
    pub at: Time,
    /// Sender.
    pub from: H,
    /// Receiver.
    pub to: H,
    /// Size in bytes.
    pub bytes: u64,
    /// Ties flows together.
    pub group: u64,
}

impl Flow<String> {
    /// The flow between the hosts that it names.
    ///
    /// # Errors
    /// The first name that no host has.
    pub fn place(&self, hosts: &dyn Hosts) -> Result<Flow, Problem> {
        let (from, to) = (hosts.one(&self.from, "from")?, hosts.one(&self.to, "to")?);
        Ok(Flow { at: self.at, from, to, bytes: self.bytes, group: self.group })
    }
}

/// What hosts are to do.
#[derive(Clone, Debug)]
pub enum Job {
    /// One flow a pair, all at once.
    Bulk {
        /// (from, to).
        pairs: Vec<(HostId, HostId)>,
        /// Size of each flow in bytes.
        bytes: u64,
    },
    /// All senders answer one receiver at the same time; the next round begins when the last byte
    /// is there. The receiver opens one stream a sender a round, whose group is the round.
    Incast {
        /// Who answers.
        senders: Vec<HostId>,
        /// Who asks.
        receiver: HostId,
        /// Size of each answer in bytes.
        bytes: u64,
        /// How often.
        rounds: u32,
    },
    /// Every host sends to one other and receives from one other.
    Permutation {
        /// Who takes part.
        hosts: Vec<HostId>,
        /// Size of each flow in bytes.
        bytes: u64,
    },
    /// Every host sends to every other.
    AllToAll {
        /// Who takes part.
        hosts: Vec<HostId>,
        /// Size of each flow in bytes.
        bytes: u64,
        /// Flows that a host sends at a time.
        parallel: u32,
        /// To whom first.
        order: Order,
        /// Each host begins at a time drawn between the job's start and so long after it.
        skew: Time,
    },
    /// Flows between random pairs, Poisson arrivals, sizes from a distribution.
    Load {
        /// Who takes part.
        hosts: Vec<HostId>,
        /// Flow sizes.
        sizes: Cdf,
        /// Part of the hosts' link rate that is offered, headers not counted; above 0.
        load: f64,
        /// Arrivals end after it.
        duration: Time,
    },
    /// A list of flows.
    Replay {
        /// The flows, in any order.
        flows: Vec<Flow>,
    },
    /// Every mapper of a coflow sends each of its reducers a part at the same time.
    Coflows {
        /// The coflows, in any order.
        coflows: Vec<Coflow<HostId>>,
    },
    /// Traffic at a constant rate, which does not hold up the end of a run.
    Background {
        /// (from, to).
        pairs: Vec<(HostId, HostId)>,
        /// Rate of a pair, IP headers counted.
        rate: Rate,
        /// How it travels.
        over: Carrier,
        /// Ends so long after the job's start; without it, with the run.
        duration: Option<Time>,
    },
}

/// Why a job is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// A list that the job lives of has nothing in it.
    #[error("{field} is empty: at least one entry is needed")]
    Empty {
        /// The list.
        field: &'static str,
    },
    /// A number that has to be above zero is zero.
    #[error("{field} is zero: it must be above zero")]
    Zero {
        /// The number's name.
        field: &'static str,
    },
    /// Fewer than two hosts.
    #[error("{got} host takes part: at least 2 are needed")]
    TooFewHosts {
        /// How many there are.
        got: usize,
    },
    /// A host that the topology does not have.
    #[error("host number {host} does not exist: the topology has {hosts} hosts")]
    UnknownHost {
        /// The host.
        host: u32,
        /// Hosts of the topology.
        hosts: usize,
    },
    /// A host is listed twice.
    #[error("host number {host} is listed twice in {field}")]
    Twice {
        /// The host.
        host: u32,
        /// The list.
        field: &'static str,
    },
    /// The receiver of an incast is one of its senders.
    #[error("host number {host} is both the receiver and one of the senders")]
    SendsToItself {
        /// The host.
        host: u32,
    },
    /// The load is not a positive number.
    #[error("load is {load}: it must be a number above 0")]
    Load {
        /// What was given.
        load: f64,
    },
    /// The MTU leaves no room for data.
    #[error("host number {host} has an MTU of {mtu}: at least {least} bytes are needed")]
    Mtu {
        /// The host.
        host: u32,
        /// Its MTU.
        mtu: Bytes,
        /// The least that works.
        least: u64,
    },
    /// A flow would still be on its way when the longest run is over.
    #[error(
        "{bytes} bytes from host number {host} take longer than the longest run (106 days) at {rate}: send less"
    )]
    Endless {
        /// The sender.
        host: u32,
        /// Bytes of its flow.
        bytes: u64,
        /// The rate of its links.
        rate: Rate,
    },
    /// More flows than a plan may have.
    #[error("the job has about {flows:.0} flows: at most {FLOWS_MAX} are allowed")]
    TooManyFlows {
        /// How many it would have.
        flows: f64,
    },
}

impl Job {
    /// Refuses a job that can't run on `hosts`.
    pub(crate) fn check(&self, hosts: &[HostInfo]) -> Result<(), JobError> {
        self.check_form(hosts)?;
        self.check_sizes(hosts)
    }

    /// Refuses a flow that no run can see the end of.
    fn check_sizes(&self, hosts: &[HostInfo]) -> Result<(), JobError> {
        let all = |senders: &[HostId], bytes: u64| {
            senders.iter().try_for_each(|sender| ends_in_time(*sender, bytes, hosts))
        };
        match self {
            Job::Bulk { pairs, bytes } => {
                pairs.iter().try_for_each(|(from, _)| ends_in_time(*from, *bytes, hosts))
            }
            Job::Incast { senders, bytes, .. } => all(senders, *bytes),
            Job::Permutation { hosts: members, bytes } | Job::AllToAll { hosts: members, bytes, .. } => {
                all(members, *bytes)
            }
            Job::Replay { flows } => {
                flows.iter().try_for_each(|flow| ends_in_time(flow.from, flow.bytes, hosts))
            }
            Job::Coflows { coflows } => coflows.iter().try_for_each(|coflow| {
                let parts = coflow.reducers.iter().map(|(_, bytes)| bytes / coflow.mappers.len() as u64);
                all(&coflow.mappers, parts.max().unwrap_or_default())
            }),
            Job::Load { .. } | Job::Background { .. } => Ok(()),
        }
    }

    fn check_form(&self, hosts: &[HostInfo]) -> Result<(), JobError> {
        match self {
            Job::Bulk { pairs, .. } => known_pairs(pairs, hosts),
            Job::Incast { senders, receiver, rounds, .. } => {
                not_empty("senders", senders)?;
                distinct("senders", senders, hosts)?;
                known(*receiver, hosts)?;
                positive("rounds", u64::from(*rounds))?;
                if senders.contains(receiver) {
                    return Err(JobError::SendsToItself { host: receiver.0 });
                }
                Ok(())
            }
            Job::Permutation { hosts: members, .. } => group(members, hosts),
            Job::AllToAll { hosts: members, parallel, .. } => {
                group(members, hosts)?;
                positive("parallel", u64::from(*parallel))?;
                few(members.len() as f64 * (members.len() - 1) as f64)
            }
            Job::Load { hosts: members, sizes, load, duration } => {
                group(members, hosts)?;
                if !load.is_finite() || *load <= 0.0 {
                    return Err(JobError::Load { load: *load });
                }
                let rate = total_rate(members, hosts);
                positive("the hosts' link rate", rate.as_bps())?;
                few(duration.as_ps() as f64 / crate::plan::mean_gap_ps(rate, sizes, *load))
            }
            Job::Replay { flows } => {
                not_empty("flows", flows)?;
                flows.iter().try_for_each(|flow| known(flow.from, hosts).and(known(flow.to, hosts)))?;
                few(flows.len() as f64)
            }
            Job::Coflows { coflows } => check_coflows(coflows, hosts),
            Job::Background { pairs, rate, over, .. } => {
                known_pairs(pairs, hosts)?;
                positive("rate", rate.as_bps())?;
                pairs.iter().try_for_each(|(from, _)| room_for_data(*from, *over, hosts))
            }
        }
    }
}

/// Sum of the members' link rates.
pub(crate) fn total_rate(members: &[HostId], hosts: &[HostInfo]) -> Rate {
    let sum = members.iter().fold(0u64, |sum, host| sum.saturating_add(hosts[host.0 as usize].rate.as_bps()));
    Rate::from_bps(sum)
}

fn check_coflows(coflows: &[Coflow<HostId>], hosts: &[HostInfo]) -> Result<(), JobError> {
    not_empty("coflows", coflows)?;
    for coflow in coflows {
        not_empty("mappers", &coflow.mappers)?;
        not_empty("reducers", &coflow.reducers)?;
        coflow.mappers.iter().try_for_each(|host| known(*host, hosts))?;
        coflow.reducers.iter().try_for_each(|(host, _)| known(*host, hosts))?;
    }
    few(coflows.iter().map(|coflow| coflow.mappers.len() as f64 * coflow.reducers.len() as f64).sum())
}

fn room_for_data(host: HostId, over: Carrier, hosts: &[HostInfo]) -> Result<(), JobError> {
    let least = 1 + match over {
        Carrier::Udp => UDP_HEADERS,
        Carrier::Tcp => TCP_HEADERS,
    };
    let mtu = hosts[host.0 as usize].mtu;
    if mtu.get() < least { Err(JobError::Mtu { host: host.0, mtu, least }) } else { Ok(()) }
}

/// Half of what a time can hold: no run gets further (`crates/scenario/src/build/mod.rs`).
const LONGEST_S: f64 = (u64::MAX / 2) as f64 / 1e12;

fn ends_in_time(from: HostId, bytes: u64, hosts: &[HostInfo]) -> Result<(), JobError> {
    let rate = hosts[from.0 as usize].rate;
    let endless = rate.as_bps() > 0 && bytes as f64 * 8.0 / rate.as_bps() as f64 > LONGEST_S;
    if endless { Err(JobError::Endless { host: from.0, bytes, rate }) } else { Ok(()) }
}

fn few(flows: f64) -> Result<(), JobError> {
    if flows > FLOWS_MAX as f64 { Err(JobError::TooManyFlows { flows }) } else { Ok(()) }
}

fn positive(field: &'static str, n: u64) -> Result<(), JobError> {
    if n == 0 { Err(JobError::Zero { field }) } else { Ok(()) }
}

fn not_empty<T>(field: &'static str, list: &[T]) -> Result<(), JobError> {
    if list.is_empty() { Err(JobError::Empty { field }) } else { Ok(()) }
}

fn known(host: HostId, hosts: &[HostInfo]) -> Result<(), JobError> {
    if (host.0 as usize) < hosts.len() {
        return Ok(());
    }
    Err(JobError::UnknownHost { host: host.0, hosts: hosts.len() })
}

fn known_pairs(pairs: &[(HostId, HostId)], hosts: &[HostInfo]) -> Result<(), JobError> {
    not_empty("pairs", pairs)?;
    pairs.iter().try_for_each(|(from, to)| known(*from, hosts).and(known(*to, hosts)))
}

fn distinct(field: &'static str, members: &[HostId], hosts: &[HostInfo]) -> Result<(), JobError> {
    let mut seen = BTreeSet::new();
    for host in members {
        known(*host, hosts)?;
        if !seen.insert(host) {
            return Err(JobError::Twice { host: host.0, field });
        }
    }
    Ok(())
}

fn group(members: &[HostId], hosts: &[HostInfo]) -> Result<(), JobError> {
    if members.len() < 2 {
        return Err(JobError::TooFewHosts { got: members.len() });
    }
    distinct("hosts", members, hosts)
}
