//! Measurements of the plan's hops, window by window, and what they say about the links under them.
//!
//! Parents report how fast each child took data, and whether the network or the pace limited it. Reports are
//! collected into windows long enough to determine a rate, and a hop is judged by the last complete windows.
//! An older window, or one in which a link changed, says nothing about the current rate.

use super::message::Edge;
use crate::plan::Plan;
use crate::topology::{LinkId, NodeId, RATE_MAX};
use process::HostId;
use std::collections::BTreeMap;

/// A hop was held back by the network when it was for more than this part of the time, in percent.
const HELD_PERCENT: u64 = 60;
/// And by its pace when it was for more than this part.
const PACED_PERCENT: u64 = 30;
/// A hop is slow below this part of its planned rate, and a link below this part of its capacity, in percent.
pub(super) const SLOW_PERCENT: u64 = 80;
/// A window is as long as so many chunks take at the planned rate: fewer say nothing of a rate.
const WINDOW_CHUNKS: u64 = 4;

/// How data went over a hop in some time.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    bytes: u64,
    micros: u64,
    network_micros: u64,
    paced_micros: u64,
}

impl Seen {
    fn add(&mut self, edge: &Edge) {
        self.bytes = self.bytes.saturating_add(edge.bytes);
        self.micros = self.micros.saturating_add(edge.micros);
        self.network_micros = self.network_micros.saturating_add(edge.network_micros);
        self.paced_micros = self.paced_micros.saturating_add(edge.paced_micros);
    }
    /// In bit/s; no more than a link can have, whatever was reported.
    fn rate(self) -> u64 {
        let rate = u128::from(self.bytes) * 8_000_000 / u128::from(self.micros.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX).min(RATE_MAX as u64)
    }
    fn is_held(self) -> bool {
        self.network_micros * 100 > self.micros * HELD_PERCENT
    }
    fn is_paced(self) -> bool {
        self.paced_micros * 100 > self.micros * PACED_PERCENT
    }
    fn is_slow(self, planned: u64) -> bool {
        self.is_held() && self.is_below(planned)
    }
    fn is_below(self, planned: u64) -> bool {
        u128::from(self.rate()) * 100 < u128::from(planned) * u128::from(SLOW_PERCENT)
    }
    /// With a window before it, and a chunk that has nearly come: chunks count when they are whole, and a
    /// window has few where rates are low.
    fn at_most(self, before: Seen, chunk: u64) -> Seen {
        let bytes = self.bytes.saturating_add(before.bytes).saturating_add(chunk);
        Seen { bytes, micros: self.micros.saturating_add(before.micros), ..self }
    }
}

/// The windows of a hop: the one that is open, and the last two whole ones, the latest first.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    open: Seen,
    whole: [Option<Seen>; 2],
    /// The last one was not looked at.
    fresh: bool,
}

/// A hop of the plan.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub path: Vec<LinkId>,
    /// In bit/s, in all trees.
    planned: u64,
    /// Bytes of a chunk.
    chunk: u64,
    windows: Windows,
}

impl Hop {
    fn last(&self) -> Seen {
        self.windows.whole[0].unwrap_or(self.windows.open)
    }

    /// It was slow in the last two windows: one may be a loss.
    pub(super) fn is_slow(&self) -> bool {
        let [Some(last), Some(before)] = self.windows.whole else { return false };
        let both = last.is_slow(self.planned) && before.is_slow(self.planned);
        both && last.at_most(before, self.chunk).is_below(self.planned)
    }
}

/// What hops do to a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    /// In bit/s.
    pub rate: u64,
    /// A hop over it has the rate that was planned.
    pub good: bool,
    /// A hop over it is held back by its pace.
    pub paced: bool,
    /// A hop over it is held back by the network.
    pub held: bool,
}

/// All hops of a plan.
#[derive(Debug, Default)]
pub(super) struct Hops(BTreeMap<(HostId, HostId), Hop>);

impl Hops {
    /// Those of `plan`; chunks are of `chunk` bytes.
    pub(super) fn new(plan: &Plan, hosts: &BTreeMap<NodeId, HostId>, chunk: u64) -> Hops {
        let mut all: BTreeMap<(HostId, HostId), Hop> = BTreeMap::new();
        for tree in plan.trees() {
            for hop in tree.hops() {
                let new = || Hop { path: hop.path.to_vec(), planned: 0, chunk, windows: Windows::default() };
                all.entry((hosts[&hop.parent], hosts[&hop.child])).or_insert_with(new).planned +=
                    tree.rate().as_bps();
            }
        }
        Hops(all)
    }

    /// A parent has reported how data went to a child.
    pub(super) fn measure(&mut self, parent: HostId, edge: &Edge) {
        let Some(hop) = self.0.get_mut(&(parent, edge.child)) else { return };
        let windows = &mut hop.windows;
        windows.open.add(edge);
        let planned = u128::from(hop.planned) * u128::from(windows.open.micros) / 8_000_000;
        if planned >= u128::from(WINDOW_CHUNKS * hop.chunk) {
            windows.whole = [Some(std::mem::take(&mut windows.open)), windows.whole[0]];
            windows.fresh = true;
        }
    }

    /// Whether anything came since the last look.
    pub(super) fn refresh(&mut self) -> bool {
        self.0.values_mut().fold(false, |any, hop| std::mem::take(&mut hop.windows.fresh) | any)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Hop> {
        self.0.values()
    }

    /// The links under the hops of a host.
    pub(super) fn links_of(&self, host: HostId) -> Vec<LinkId> {
        let of = |((parent, child), _): &(&(HostId, HostId), &Hop)| *parent == host || *child == host;
        self.0.iter().filter(of).flat_map(|(_, hop)| hop.path.iter().copied()).collect()
    }

    /// What they do to the links under them.
    pub(super) fn loads(&self) -> BTreeMap<LinkId, Load> {
        let mut loads: BTreeMap<LinkId, Load> = BTreeMap::new();
        for hop in self.0.values() {
            let seen = hop.last();
            let good = !seen.is_slow(hop.planned) && seen.rate() * 100 >= hop.planned * SLOW_PERCENT;
            for link in &hop.path {
                let load = loads.entry(*link).or_default();
                load.rate = (load.rate + seen.rate()).min(RATE_MAX as u64);
                load.good |= good;
                load.paced |= seen.is_paced();
                load.held |= seen.is_held();
            }
        }
        loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_report_makes_a_rate_that_overflows() {
        let edge = Edge { child: HostId(1), bytes: u64::MAX, micros: 1, network_micros: 0, paced_micros: 0 };
        let mut seen = Seen::default();
        (0..3).for_each(|_| seen.add(&edge));
        assert_eq!(seen.rate(), RATE_MAX as u64);
    }
}
