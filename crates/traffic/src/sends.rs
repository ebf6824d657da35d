//! What a job is to send, as far as it is known before it begins.

use crate::settings::{AllToAll, Bulk, Coflows, Incast, Permutation, Replay};
use units::Time;

/// What a job is to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sends {
    /// How many flows.
    pub flows: f64,
    /// Bytes of all of them.
    pub bytes: f64,
    /// From the first flow's beginning to the last one's, if the job says when flows begin; otherwise zero.
    pub over: Time,
}

impl Sends {
    fn alike(flows: f64, bytes: u64) -> Sends {
        Sends { flows, bytes: flows * bytes as f64, over: Time::ZERO }
    }

    /// Flows that begin at such times, and the bytes of each.
    fn timed(flows: impl Iterator<Item = (Time, f64, f64)>) -> Sends {
        let (mut all, mut first, mut last) = (Sends::alike(0.0, 0), Time::MAX, Time::ZERO);
        for (at, flows, bytes) in flows {
            all.flows += flows;
            all.bytes += bytes;
            (first, last) = (first.min(at), last.max(at));
        }
        Sends { over: last.saturating_sub(first), ..all }
    }
}

impl<H> Bulk<H> {
    pub(crate) fn sends(&self) -> Sends {
        Sends::alike(self.pairs.len() as f64, self.bytes)
    }
}

impl<H> Incast<H> {
    pub(crate) fn sends(&self) -> Sends {
        Sends::alike(self.senders.len() as f64 * f64::from(self.rounds), self.bytes)
    }
}

impl<H> Permutation<H> {
    pub(crate) fn sends(&self) -> Sends {
        Sends::alike(self.hosts.len() as f64, self.bytes)
    }
}

impl<H> AllToAll<H> {
    pub(crate) fn sends(&self) -> Sends {
        let hosts = self.hosts.len() as f64;
        Sends::alike(hosts * (hosts - 1.0), self.bytes)
    }
}

impl<H> Replay<H> {
    pub(crate) fn sends(&self) -> Sends {
        Sends::timed(self.flows.iter().map(|flow| (flow.at, 1.0, flow.bytes as f64)))
    }
}

impl<H> Coflows<H> {
    pub(crate) fn sends(&self) -> Sends {
        Sends::timed(self.coflows.iter().map(|coflow| {
            let flows = coflow.mappers.len() as f64 * coflow.reducers.len() as f64;
            (coflow.at, flows, coflow.reducers.iter().map(|(_, bytes)| *bytes as f64).sum())
        }))
    }
}
