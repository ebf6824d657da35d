//! Pure functions from a job's parameters to its demands: how much each host sends, to which host, and when.
//!
//! A demand says nothing of how a flow is carried out; `sender` does that.

use crate::flows::Rows;
use crate::{Cdf, Coflow, Flow, Flows, Order, draw};
use process::HostId;
use rand::{Rng, RngExt};
use std::collections::BTreeMap;
use units::{Rate, Time};

/// A flow that a host is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// When it begins, since the job's start.
    pub at: Time,
    /// The receiver.
    pub to: HostId,
    /// Size in bytes.
    pub bytes: u64,
    /// Ties flows together.
    pub group: u64,
}

/// The flows of each sending host, sorted by time.
pub type Demands = BTreeMap<HostId, PackedDemands>;

/// The flows that a host is to send, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedDemands(pub(crate) Rows);

impl PackedDemands {
    /// The flows in their order.
    pub fn iter(&self) -> impl Iterator<Item = Demand> {
        let demand = |flow: Flow<u32>| Demand {
            at: flow.at,
            to: HostId(flow.to),
            bytes: flow.bytes,
            group: flow.group,
        };
        self.0.iter().map(demand)
    }

    /// Bytes that they take.
    pub fn size(&self) -> usize {
        self.0.size()
    }

    fn push(&mut self, Demand { at, to, bytes, group }: Demand) {
        self.0.push(Flow { at, from: 0, to: to.0, bytes, group });
    }
}

impl FromIterator<Demand> for PackedDemands {
    fn from_iter<I: IntoIterator<Item = Demand>>(flows: I) -> PackedDemands {
        let mut demands = PackedDemands::default();
        flows.into_iter().for_each(|flow| demands.push(flow));
        demands
    }
}

/// One flow a pair, all at once.
pub fn bulk(pairs: &[(HostId, HostId)], bytes: u64) -> Demands {
    let mut demands = Demands::new();
    for &(from, to) in pairs {
        demands.entry(from).or_default().push(Demand { at: Time::ZERO, to, bytes, group: 0 });
    }
    demands
}

/// Every host sends to one other and receives from one other: a derangement drawn uniformly.
/// Takes at least two hosts.
pub fn permutation(hosts: &[HostId], bytes: u64, rng: &mut dyn Rng) -> Demands {
    let receivers = derangement(hosts.len(), rng);
    let pairs: Vec<_> = receivers.iter().enumerate().map(|(i, &to)| (hosts[i], hosts[to])).collect();
    bulk(&pairs, bytes)
}

/// Shuffles until no element is in its place: that keeps the draw uniform over all derangements,
/// and takes e shuffles on average.
fn derangement(n: usize, rng: &mut dyn Rng) -> Vec<usize> {
    assert!(n >= 2, "one host has nobody to send to");
    loop {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, draw::index(rng, i + 1));
        }
        if order.iter().enumerate().all(|(i, &to)| i != to) {
            return order;
        }
    }
}

/// Every host sends to every other in rotated order, host i to i+1, i+2 and so on, so that hosts
/// in step never meet at one receiver.
pub fn all_to_all(hosts: &[HostId], bytes: u64, order: Order, skew: Time, rng: &mut dyn Rng) -> Demands {
    let count = hosts.len();
    let mut flows = |own: usize| {
        let at = if skew == Time::ZERO { skew } else { Time::from_ps(rng.random_range(0..skew.as_ps())) };
        let to = |i: usize| Demand { at, to: hosts[i % count], bytes, group: 0 };
        match order {
            Order::Rotated => (own + 1..own + count).map(to).collect(),
            Order::Same => (0..count).filter(|i| *i != own).map(to).collect(),
        }
    };
    hosts.iter().enumerate().map(|(own, &from)| (from, flows(own))).collect()
}

/// Mean time between arrivals, in picoseconds, that offers `load` times `rate` in flows of `sizes`.
pub(crate) fn mean_gap_ps(rate: Rate, sizes: &Cdf, load: f64) -> f64 {
    sizes.mean() * 8.0 * 1e12 / (rate.as_bps() as f64 * load)
}

/// Flows between random pairs of different hosts, every pair equally likely. Arrivals are Poisson,
/// at the rate that offers `load` times `rate` (the sum of the hosts' link rates) in bytes of flows.
/// Takes at least two hosts.
pub fn load(
    hosts: &[HostId],
    rate: Rate,
    sizes: &Cdf,
    load: f64,
    duration: Time,
    rng: &mut dyn Rng,
) -> Demands {
    let gap = mean_gap_ps(rate, sizes, load);
    let mut demands = Demands::new();
    let mut at = Time::ZERO;
    loop {
        at = at.saturating_add(Time::from_ps(draw::exponential(rng, gap)));
        if at >= duration {
            return demands;
        }
        let (from, to) = draw::pair(rng, hosts.len());
        let flow = Demand { at, to: hosts[to], bytes: sizes.draw(rng), group: 0 };
        demands.entry(hosts[from]).or_default().push(flow);
    }
}

/// The given flows, sorted; those of one time stay in the order given.
pub fn replay(flows: &Flows) -> Demands {
    let mut demands = Demands::new();
    for Flow { at, from: &from, to: &to, bytes, group } in flows.iter() {
        demands.entry(from).or_default().push(Demand { at, to, bytes, group });
    }
    sorted(demands)
}

/// Every mapper of a coflow sends each reducer an equal part of what that reducer receives; the
/// first mappers send a byte more where it does not divide. A part of no bytes is no flow.
pub fn coflows(coflows: &[Coflow<HostId>]) -> Demands {
    let mut demands = Demands::new();
    for coflow in coflows {
        let mappers = coflow.mappers.len() as u64;
        for (i, &from) in (0u64..).zip(&coflow.mappers) {
            let flows = demands.entry(from).or_default();
            for &(to, bytes) in &coflow.reducers {
                let bytes = bytes / mappers + u64::from(i < bytes % mappers);
                if bytes > 0 {
                    flows.push(Demand { at: coflow.at, to, bytes, group: coflow.id });
                }
            }
        }
    }
    sorted(demands)
}

fn sorted(mut demands: Demands) -> Demands {
    for packed in demands.values_mut().filter(|packed| !packed.0.is_sorted()) {
        let mut flows: Vec<Demand> = packed.iter().collect();
        flows.sort_by_key(|flow| flow.at);
        *packed = flows.into_iter().collect();
    }
    demands
}
