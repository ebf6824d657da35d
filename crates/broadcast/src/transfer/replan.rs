//! Plans, and what is learnt about links while they are executed (future work in document 003: "changes relay
//! schedule by detecting bandwidth fluctuations", slide 36).
//!
//! Parents report how fast each child took data ([`super::measured`]); [`super::blame`] decides which links
//! are the cause. A plan for outdated rates is worse than none, so each report is evaluated as soon as the
//! data in transit at the time of the plan have arrived.

use super::blame::Links;
use super::config::Config;
use super::measured::Hops;
use super::message::Edge;
use super::wire::TREES_MAX;
use crate::algorithm;
use crate::check::PlanError;
use crate::plan::{Hop, Plan};
use crate::route::Routes;
use crate::topology::{NodeId, Topology};
use process::HostId;
use std::collections::BTreeMap;
use units::{Rate, Time};

/// What was on its way arrives, and streams get up to speed, for so long after a plan: what is measured then
/// blames the wrong links.
const SETTLE: Time = Time::from_ms(500);

/// The part of a plan's rate that a tree for a host has of which nothing is known.
const SMALL_PART: u64 = 64;

/// The present plan, and what is known of the network.
#[derive(Debug)]
pub(crate) struct Planning {
    links: Links,
    places: BTreeMap<HostId, NodeId>,
    hosts: BTreeMap<NodeId, HostId>,
    plan: Option<Plan>,
    hops: Hops,
    /// What is measured counts from then on.
    settled: Time,
}

/// What a member is told of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Trees that it is in, and the parent that feeds it there.
    pub mine: Vec<(u32, HostId)>,
    /// At which rate it receives in all, in bit/s.
    pub rate: u64,
}

impl Planning {
    pub(crate) fn new(config: &Config) -> Planning {
        Planning {
            links: Links::new(&config.topology),
            places: config.places.iter().copied().collect(),
            hosts: config.places.iter().map(|(host, node)| (*node, *host)).collect(),
            plan: None,
            hops: Hops::default(),
            settled: Time::ZERO,
        }
    }

    /// Plans from `source` to `members`; `leaves` among them are not to relay. `unknown` are further ones
    /// that the source serves alone, each in a tree of its own: nobody waits for a host of which nothing is
    /// known.
    ///
    /// # Errors
    /// No plan can be made: why.
    pub(crate) fn plan(
        &mut self,
        config: &Config,
        source: HostId,
        (members, unknown): (&[HostId], &[HostId]),
        leaves: &[HostId],
        now: Time,
    ) -> Result<(), String> {
        let place = |host: &HostId| self.places[host];
        let (from, to) = (place(&source), members.iter().map(place).collect::<Vec<_>>());
        let given = config.plan.as_ref().filter(|plan| {
            let same = |a: &[NodeId], b: &[NodeId]| {
                let sorted = |nodes: &[NodeId]| {
                    let mut nodes = nodes.to_vec();
                    nodes.sort_unstable();
                    nodes
                };
                sorted(a) == sorted(b)
            };
            self.links.are_as_given()
                && unknown.is_empty()
                && leaves.is_empty()
                && plan.source == from
                && same(&plan.destinations, &to)
        });
        let plan = match given {
            Some(plan) => plan.clone(),
            None if members.is_empty() => Plan::new("", from, &[]),
            None => {
                let without = self.without_relays(leaves);
                let made = algorithm::plan(config.settings.algorithm, &without, from, &to, config.seed);
                // A host that must not relay may be the only way to another.
                made.or_else(|_| {
                    algorithm::plan(config.settings.algorithm, &self.links.now, from, &to, config.seed)
                })
                .map_err(|error| error.to_string())?
            }
        };
        let plan = if unknown.is_empty() {
            plan
        } else {
            self.with_unknown(&plan, unknown).map_err(|error| error.to_string())?
        };
        if plan.len() > TREES_MAX {
            return Err(format!("the plan has {} trees: at most {TREES_MAX} are allowed", plan.len()));
        }
        self.hops = Hops::new(&plan, &self.hosts, config.chunks.size());
        self.plan = Some(plan);
        self.settled = now.saturating_add(config.settings.report.max(SETTLE));
        Ok(())
    }

    /// A plan with these hosts in trees of their own, which have few of the chunks.
    ///
    /// # Errors
    /// One of them cannot be reached.
    fn with_unknown(&self, plan: &Plan, unknown: &[HostId]) -> Result<Plan, PlanError> {
        let places = unknown.iter().map(|host| self.places[host]);
        let destinations: Vec<NodeId> = plan.destinations.iter().copied().chain(places.clone()).collect();
        let mut with = Plan::new("", plan.source, &destinations);
        for tree in plan.trees() {
            with.push(tree.rate(), tree.hops());
        }
        let total: u64 = plan.trees().map(|tree| tree.rate().as_bps()).sum();
        let rate = Rate::from_bps((total / SMALL_PART).max(1));
        let routes = Routes::new(&self.links.now, plan.source);
        for child in places {
            with.push(rate, [Hop { parent: plan.source, child, path: &routes.to(child)? }]);
        }
        Ok(with)
    }

    /// Hosts have these rates, in bit/s. The source's own is that of the fastest; no rate of others says
    /// nothing of it.
    pub(crate) fn learn(&mut self, source: HostId, rates: &BTreeMap<HostId, u64>) {
        let Some(fastest) = rates.values().copied().max() else { return };
        for (host, rate) in rates.iter().map(|(host, rate)| (*host, *rate)).chain([(source, fastest)]) {
            for link in self.links.now.leaving(self.places[&host]).to_vec() {
                self.links.learn(link, Rate::from_bps(rate));
                self.links.learn(link.reverse(), Rate::from_bps(rate));
            }
        }
    }

    /// The topology in which nothing leaves these hosts.
    fn without_relays(&self, leaves: &[HostId]) -> Topology {
        let mut topology = self.links.now.clone();
        for node in leaves.iter().map(|host| self.places[host]) {
            for link in topology.leaving(node).to_vec() {
                topology.set_capacity(link, Rate::from_bps(0));
            }
        }
        topology
    }

    /// The rates of the plan's trees, in bit/s.
    pub(crate) fn rates(&self) -> Vec<u64> {
        self.plan.iter().flat_map(|plan| plan.trees()).map(|tree| tree.rate().as_bps()).collect()
    }

    /// What each member is told.
    pub(crate) fn shares(&self) -> BTreeMap<HostId, Share> {
        let mut shares: BTreeMap<HostId, Share> = BTreeMap::new();
        for (number, tree) in self.plan.iter().flat_map(|plan| plan.trees()).enumerate() {
            for hop in tree.hops() {
                let share = shares.entry(self.hosts[&hop.child]).or_default();
                share.mine.push((number as u32, self.hosts[&hop.parent]));
                share.rate += tree.rate().as_bps();
            }
        }
        shares
    }

    /// A host has been silent since then: its links carried nothing, and are as they were when it comes back.
    pub(crate) fn outage(&mut self, host: HostId, since: Time) {
        self.links.forget(&self.hops.links_of(host), since);
    }

    /// A parent has reported how data went to a child.
    pub(crate) fn measure(&mut self, parent: HostId, edge: &Edge, now: Time) {
        if now >= self.settled.saturating_add(Time::from_us(edge.micros)) {
            self.hops.measure(parent, edge);
        }
    }

    /// Whether links carry less or more than was planned with: then it is time to plan again. Of links that
    /// are `unknown`, what they were taken for was an estimate, and may be too low.
    pub(crate) fn look(&mut self, unknown: bool, now: Time) -> bool {
        if !self.hops.refresh() {
            return false;
        }
        let loads = self.hops.loads();
        let outgrown = unknown && self.links.outgrow(&loads);
        outgrown | self.links.blame(self.hops.iter(), &loads, now) | self.links.forgive(&loads, now)
    }
}
