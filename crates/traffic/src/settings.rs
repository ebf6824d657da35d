//! The settings of the generic jobs: hosts are named by text as they are read, and by number once placed.

use crate::{Coflow, Flows, Sends};
use process::{HostId, Hosts};
use serde::{Deserialize, Serialize};
use units::{Problem, Rate, Time};

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

/// How background traffic is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Packet by packet.
    Packets,
    /// A rate at each port on its way; datagrams only. Drivers do that, not processes.
    Fluid,
}

/// One flow per pair, all at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk<H = HostId> {
    /// (from, to).
    pub pairs: Vec<(H, H)>,
    /// Size of each flow in bytes.
    pub bytes: u64,
}

/// All senders answer one receiver at the same time; the next round begins when the last byte is there. The
/// receiver opens one stream per sender and round, whose group is the round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incast<H = HostId> {
    /// Hosts that answer.
    pub senders: Vec<H>,
    /// The host that asks.
    pub receiver: H,
    /// Size of each answer in bytes.
    pub bytes: u64,
    /// Number of rounds.
    pub rounds: u32,
}

/// Every host sends to one other and receives from one other, drawn from the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permutation<H = HostId> {
    /// Hosts that take part.
    pub hosts: Vec<H>,
    /// Size of each flow in bytes.
    pub bytes: u64,
}

/// Every host sends to every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllToAll<H = HostId> {
    /// Hosts that take part.
    pub hosts: Vec<H>,
    /// Size of each flow in bytes.
    pub bytes: u64,
    /// Flows that a host sends at a time.
    pub parallel: u32,
    /// The order of receivers.
    pub order: Order,
    /// Each host begins at a time drawn between the job's start and so long after it.
    pub skew: Time,
}

/// Flows between random pairs, Poisson arrivals, sizes from a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load<H = HostId> {
    /// Hosts that take part.
    pub hosts: Vec<H>,
    /// Sizes of flows: (bytes, probability of at most so many), ascending, ends at probability 1.
    pub sizes: Vec<(u64, f64)>,
    /// Part of the hosts' link rate that is offered, headers not counted; above 0.
    pub load: f64,
    /// Arrivals end after it.
    pub duration: Time,
}

/// A list of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "Flows<H>: Deserialize<'de>"))]
pub struct Replay<H = HostId> {
    /// The flows, in any order.
    pub flows: Flows<H>,
}

/// Every mapper of a coflow sends each of its reducers a part at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coflows<H = HostId> {
    /// The coflows, in any order.
    pub coflows: Vec<Coflow<H>>,
}

/// Datagrams or streams at a constant rate between pairs, which no run waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background<H = HostId> {
    /// (from, to).
    pub pairs: Vec<(H, H)>,
    /// Rate of a pair, IP headers counted.
    pub rate: Rate,
    /// How it travels.
    pub over: Carrier,
    /// How it is modelled.
    pub model: Model,
    /// Ends so long after the job's start; without it, with the run.
    pub duration: Option<Time>,
}

/// What hosts are to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// One flow per pair.
    Bulk(Bulk),
    /// All answer one.
    Incast(Incast),
    /// Every host sends to one other.
    Permutation(Permutation),
    /// Every host sends to every other.
    AllToAll(AllToAll),
    /// Flows by chance.
    Load(Load),
    /// A list of flows.
    Replay(Replay),
    /// Coflows.
    Coflows(Coflows),
    /// Traffic at a constant rate.
    Background(Background),
}

/// Settings as they are read, which name hosts by text.
pub trait Named {
    /// The job on the hosts that the settings name.
    ///
    /// # Errors
    /// The first name that no host has.
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem>;

    /// What it is to send, if that is known before it begins.
    fn sends(&self) -> Option<Sends> {
        None
    }
}

impl Named for Bulk<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        Ok(Job::Bulk(Bulk { pairs: pairs(hosts, &self.pairs)?, bytes: self.bytes }))
    }

    fn sends(&self) -> Option<Sends> {
        Some(self.sends())
    }
}

impl Named for Incast<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        let (senders, receiver) =
            (hosts.all(&self.senders, "senders")?, hosts.one(&self.receiver, "receiver")?);
        Ok(Job::Incast(Incast { senders, receiver, bytes: self.bytes, rounds: self.rounds }))
    }

    fn sends(&self) -> Option<Sends> {
        Some(self.sends())
    }
}

impl Named for Permutation<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        Ok(Job::Permutation(Permutation { hosts: hosts.all(&self.hosts, "hosts")?, bytes: self.bytes }))
    }

    fn sends(&self) -> Option<Sends> {
        Some(self.sends())
    }
}

impl Named for AllToAll<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        let Self { bytes, parallel, order, skew, .. } = *self;
        Ok(Job::AllToAll(AllToAll { hosts: hosts.all(&self.hosts, "hosts")?, bytes, parallel, order, skew }))
    }

    fn sends(&self) -> Option<Sends> {
        Some(self.sends())
    }
}

impl Named for Load<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        let (hosts, sizes) = (hosts.all(&self.hosts, "hosts")?, self.sizes.clone());
        Ok(Job::Load(Load { hosts, sizes, load: self.load, duration: self.duration }))
    }
}

impl Named for Replay<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        Ok(Job::Replay(Replay { flows: self.flows.place(hosts)? }))
    }

    fn sends(&self) -> Option<Sends> {
        Some(self.sends())
    }
}

impl Named for Coflows<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        let coflow =
            |(i, coflow): (_, &Coflow<_>)| coflow.on(hosts).map_err(|error| error.within(("coflows", i)));
        let coflows: Result<_, _> = self.coflows.iter().enumerate().map(coflow).collect();
        Ok(Job::Coflows(Coflows { coflows: coflows? }))
    }

    fn sends(&self) -> Option<Sends> {
        Some(self.sends())
    }
}

impl Named for Background<String> {
    fn place(&self, hosts: &dyn Hosts) -> Result<Job, Problem> {
        let Self { rate, over, model, duration, .. } = *self;
        Ok(Job::Background(Background { pairs: pairs(hosts, &self.pairs)?, rate, over, model, duration }))
    }
}

fn pairs(hosts: &dyn Hosts, pairs: &[(String, String)]) -> Result<Vec<(HostId, HostId)>, Problem> {
    let pair = |(i, (from, to)): (usize, &(String, String))| {
        let end = |side: usize, name| {
            hosts.find(name).map_err(|message| Problem::new(side, message).within(("pairs", i)))
        };
        Ok((end(0, from)?, end(1, to)?))
    };
    pairs.iter().enumerate().map(pair).collect()
}
