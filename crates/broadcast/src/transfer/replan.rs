//! Plans, and what is learnt of links while they are carried out (the document's future work: "changes relay schedule by
//! detecting bandwidth fluctuations", slide 36).
//!
//! Parents report how fast each child took data, and whether the network held them back. A link is to blame for a slow
//! hop if no other hop over it has the rate that was planned, and all hops over it together are well below what it was
//! taken to carry. It is then taken to carry just that. A link that was slow is tried again at double its rate while hops
//! over it are not held back, and at its full rate after a while that doubles each time that it was wrong.
//!
//! A plan made for rates of long ago is worse than none, so looks are twice a second, from a second after a plan on.

use super::config::Config;
use super::message::Edge;
use super::wire::TREES_MAX;
use crate::algorithm;
use crate::plan::Plan;
use crate::topology::{LinkId, NodeId, Topology};
use process::HostId;
use std::collections::BTreeMap;
use units::{Rate, Time};

/// Time between two looks at what was measured.
const LOOK: Time = Time::from_ms(500);
/// What was on its way arrives, and streams get up to speed, for so long after a plan: what is measured then blames the
/// wrong links.
const SETTLE: Time = Time::from_secs(1);
/// A hop was held back by the network when it was for more than this part of the time, in percent.
const HELD_PERCENT: u64 = 60;
/// And by its pace when it was for more than this part.
const PACED_PERCENT: u64 = 30;
/// A hop is slow below this part of its planned rate, and a link below this part of its capacity, in percent.
const SLOW_PERCENT: u64 = 80;
/// A link that carries this part of what it is taken for carries more, in percent.
const FAST_PERCENT: u64 = 120;
/// Before it is tried at its full rate, a link that was slow is left alone for so long.
const TRY_AFTER: Time = Time::from_secs(4);
/// And at most for so long.
const TRY_AFTER_MOST: Time = Time::from_secs(64);
/// A link is never taken to carry less than this part of its rate.
const LEAST_PART: u64 = 100;
/// A hop is judged by the time that so many chunks take at its planned rate: fewer say nothing of a rate.
const JUDGED_CHUNKS: u64 = 4;

/// What was measured of a hop since the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    bytes: u64,
    micros: u64,
    network_micros: u64,
    paced_micros: u64,
}

impl Seen {
    /// In bit/s.
    fn rate(self) -> u64 {
        let rate = u128::from(self.bytes) * 8_000_000 / u128::from(self.micros.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
    fn is_held(self) -> bool {
        self.network_micros * 100 > self.micros * HELD_PERCENT
    }
    fn is_paced(self) -> bool {
        self.paced_micros * 100 > self.micros * PACED_PERCENT
    }
}

/// What a link was found to carry.
#[derive(Clone, Copy, Debug)]
struct Slow {
    since: Time,
    /// Tried at its full rate then.
    retry: Time,
    /// And if that is wrong, after so long again.
    pause: Time,
}

/// The present plan, and what is known of the network.
#[derive(Debug)]
pub(crate) struct Planning {
    /// As it was given, and as it is taken to be now.
    given: Topology,
    now: Topology,
    places: BTreeMap<HostId, NodeId>,
    hosts: BTreeMap<NodeId, HostId>,
    plan: Option<Plan>,
    seen: BTreeMap<(HostId, HostId), Seen>,
    slow: BTreeMap<LinkId, Slow>,
    looked: Time,
}

/// What a member is told of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Trees that it is in, and who feeds it there.
    pub mine: Vec<(u32, HostId)>,
    /// At which rate it receives in all, in bit/s.
    pub rate: u64,
}

impl Planning {
    pub(crate) fn new(config: &Config) -> Planning {
        Planning {
            given: config.topology.clone(),
            now: config.topology.clone(),
            places: config.places.iter().copied().collect(),
            hosts: config.places.iter().map(|(host, node)| (*node, *host)).collect(),
            plan: None,
            seen: BTreeMap::new(),
            slow: BTreeMap::new(),
            looked: Time::ZERO,
        }
    }

    /// Plans from `source` to `members`; `leaves` among them are not to relay.
    ///
    /// # Errors
    /// No plan can be made: why.
    pub(crate) fn plan(
        &mut self,
        config: &Config,
        source: HostId,
        members: &[HostId],
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
            self.slow.is_empty() && leaves.is_empty() && plan.source == from && same(&plan.destinations, &to)
        });
        let plan = match given {
            Some(plan) => plan.clone(),
            None => {
                let without = self.without_relays(leaves);
                let made = algorithm::plan(config.algorithm, &without, from, &to, config.seed);
                // Who must not relay may be the only way to another.
                made.or_else(|_| algorithm::plan(config.algorithm, &self.now, from, &to, config.seed))
                    .map_err(|error| error.to_string())?
            }
        };
        if plan.len() > TREES_MAX {
            return Err(format!("the plan has {} trees: at most {TREES_MAX} are allowed", plan.len()));
        }
        self.plan = Some(plan);
        self.seen.clear();
        self.looked = now.saturating_add(config.report.max(SETTLE));
        Ok(())
    }

    /// The topology in which nothing leaves these hosts.
    fn without_relays(&self, leaves: &[HostId]) -> Topology {
        let mut topology = self.now.clone();
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

    /// A parent has reported how data went to a child.
    pub(crate) fn measure(&mut self, parent: HostId, edge: &Edge, now: Time) {
        if now < self.looked {
            return;
        }
        let seen = self.seen.entry((parent, edge.child)).or_default();
        seen.bytes = seen.bytes.saturating_add(edge.bytes);
        seen.micros = seen.micros.saturating_add(edge.micros);
        seen.network_micros = seen.network_micros.saturating_add(edge.network_micros);
        seen.paced_micros = seen.paced_micros.saturating_add(edge.paced_micros);
    }

    /// Whether links carry less or more than was planned with: then it is time to plan anew.
    pub(crate) fn look(&mut self, config: &Config, now: Time) -> bool {
        if now < self.looked.saturating_add(LOOK) {
            return false;
        }
        let Some(plan) = &self.plan else { return false };
        let (judged, young): (Vec<Measured>, Vec<Measured>) = hops(plan, &self.hosts, &self.seen)
            .into_iter()
            .partition(|hop| hop.is_judged(config.chunks.size()));
        if judged.is_empty() {
            return false;
        }
        self.looked = now;
        for hop in &judged {
            self.seen.remove(&hop.ends);
        }
        let mut loads: BTreeMap<LinkId, Load> = BTreeMap::new();
        for hop in judged.iter().chain(&young) {
            for link in &hop.path {
                let load = loads.entry(*link).or_default();
                load.rate = load.rate.saturating_add(hop.seen.rate());
                load.good |= !hop.is_slow() && hop.seen.rate() * 100 >= hop.planned * SLOW_PERCENT;
                load.paced |= hop.seen.is_paced();
            }
        }
        self.blame(&judged, &loads, now) | self.forgive(&loads, now)
    }

    /// Takes slow links for what they carry: the fewest that explain all slow hops, and of two the one nearer to the
    /// receiver. If it was the other, the next plan shows it.
    fn blame(&mut self, hops: &[Measured], loads: &BTreeMap<LinkId, Load>, now: Time) -> bool {
        let suspect = |link: &LinkId| {
            let load = loads[link];
            !load.good && load.rate * 100 < self.now.capacity(*link).as_bps() * SLOW_PERCENT
        };
        let mut slow: Vec<Vec<LinkId>> = hops
            .iter()
            .filter(|hop| hop.is_slow())
            .map(|hop| hop.path.iter().copied().filter(suspect).collect())
            .filter(|path: &Vec<LinkId>| !path.is_empty())
            .collect();
        let changed = !slow.is_empty();
        while let Some(first) = slow.first() {
            let explains = |link: &LinkId| slow.iter().filter(|path| path.contains(link)).count();
            let worst = *first.iter().max_by_key(|link| explains(link)).expect("no path is empty");
            slow.retain(|path| !path.contains(&worst));
            self.slow_down(worst, loads[&worst].rate, now);
        }
        changed
    }

    fn slow_down(&mut self, link: LinkId, rate: u64, now: Time) {
        let least = self.given.capacity(link).as_bps().div_ceil(LEAST_PART);
        self.now.set_capacity(link, Rate::from_bps(rate.max(least)));
        let pause = self.slow.get(&link).map_or(TRY_AFTER, |slow| slow.pause.saturating_mul(2));
        let pause = pause.min(TRY_AFTER_MOST);
        self.slow.insert(link, Slow { since: now, retry: now.saturating_add(pause), pause });
    }

    /// Takes links that were slow for faster ones: those that carry all that is asked of them, and those that have been
    /// slow for long. True when that changes anything.
    fn forgive(&mut self, loads: &BTreeMap<LinkId, Load>, now: Time) -> bool {
        let mut changed = false;
        for (link, slow) in self.slow.clone() {
            let (given, taken) = (self.given.capacity(link).as_bps(), self.now.capacity(link).as_bps());
            let load = loads.get(&link).copied().unwrap_or_default();
            let eager = load.rate * 100 >= taken * FAST_PERCENT || load.paced && load.good;
            let raised = match () {
                () if taken == given && now >= slow.retry.saturating_add(slow.pause) => {
                    // It has been right for long.
                    self.slow.remove(&link);
                    continue;
                }
                () if now >= slow.retry => given,
                () if eager && now > slow.since => taken.saturating_mul(2).max(load.rate).min(given),
                () => continue,
            };
            self.now.set_capacity(link, Rate::from_bps(raised));
            changed |= raised > taken;
        }
        changed
    }
}

/// A hop of the plan, and what was measured of it.
struct Measured {
    ends: (HostId, HostId),
    path: Vec<LinkId>,
    /// In bit/s, in all trees.
    planned: u64,
    seen: Seen,
}

impl Measured {
    fn is_judged(&self, chunk: u64) -> bool {
        let planned = u128::from(self.planned) * u128::from(self.seen.micros) / 8_000_000;
        self.seen.micros >= LOOK.as_us() && planned >= u128::from(JUDGED_CHUNKS * chunk)
    }
    fn is_slow(&self) -> bool {
        self.seen.is_held() && self.seen.rate() * 100 < self.planned * SLOW_PERCENT
    }
}

/// What hops do to a link.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    rate: u64,
    /// A hop over it has the rate that was planned.
    good: bool,
    /// A hop over it is held back by its pace.
    paced: bool,
}

fn hops(
    plan: &Plan,
    hosts: &BTreeMap<NodeId, HostId>,
    seen: &BTreeMap<(HostId, HostId), Seen>,
) -> Vec<Measured> {
    let mut all: BTreeMap<(HostId, HostId), Measured> = BTreeMap::new();
    for tree in plan.trees() {
        for hop in tree.hops() {
            let key = (hosts[&hop.parent], hosts[&hop.child]);
            let Some(seen) = seen.get(&key) else { continue };
            let new = || Measured { ends: key, path: hop.path.to_vec(), planned: 0, seen: *seen };
            all.entry(key).or_insert_with(new).planned += tree.rate().as_bps();
        }
    }
    all.into_values().collect()
}
