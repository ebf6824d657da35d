//! Which links carry less than their given rate, and when one is trusted again.
//!
//! A link is to blame for a slow hop on two conditions. No other hop over it reaches its planned rate, and
//! all hops over it together are well below its assumed capacity. The link is then assumed to carry exactly
//! that. Of several links the one that explains most slow hops is blamed, including hops of the previous
//! plan. If the hop that now feeds a host is slow too, the link of its former feeder was not the cause.
//!
//! A slow link is assumed to have twice its rate while hops over it are not held back. An unused link is
//! tried again after a delay that doubles each time it fails. Until it has been right for as long, it is
//! assumed to have a little less than its given rate. Planners then put it at the end of chains, where it
//! slows no other host if it is slow again.

use super::measured::{Hop, Load, SLOW_PERCENT};
use crate::topology::{LinkId, Topology};
use std::collections::BTreeMap;
use units::{Rate, Time};

/// A link that carries this part of what it is taken for carries more, in percent.
const FAST_PERCENT: u64 = 120;
/// Before it is tried at its full rate, a link that was slow is left alone for so long.
const TRY_AFTER: Time = Time::from_secs(4);
/// And at most for so long.
const TRY_AFTER_MOST: Time = Time::from_secs(64);
/// A link is never taken to carry less than this part of its rate.
const LEAST_PART: u64 = 100;
/// One that carried nothing at all is taken for this part of what it was taken for.
const OUTAGE_PART: u64 = 8;
/// A link on probation is taken to carry less than it was given by this part.
const SHY_PART: u64 = 64;
/// Slow hops explain those of a plan that is no older than this.
const RECENT: Time = Time::from_secs(4);

/// What a link was found to carry.
#[derive(Clone, Copy, Debug)]
struct Slow {
    since: Time,
    /// Tried again then, or trusted if it is taken for fast.
    retry: Time,
    /// And if that is wrong, after so long again.
    pause: Time,
}

/// A slow hop of a former plan.
#[derive(Clone, Debug)]
struct Past {
    at: Time,
    /// The links that could be to blame, and the one that was.
    suspects: Vec<LinkId>,
    blamed: LinkId,
}

/// What is known of the links.
#[derive(Debug)]
pub(super) struct Links {
    /// As they were given, and as they are taken to be now.
    given: Topology,
    pub now: Topology,
    slow: BTreeMap<LinkId, Slow>,
    past: Vec<Past>,
}

impl Links {
    pub(super) fn new(given: &Topology) -> Links {
        Links { given: given.clone(), now: given.clone(), slow: BTreeMap::new(), past: Vec::new() }
    }

    /// A link is given as this.
    pub(super) fn learn(&mut self, link: LinkId, rate: Rate) {
        self.given.set_capacity(link, rate);
        self.now.set_capacity(link, rate);
        self.slow.remove(&link);
    }

    /// Takes links that carry more than they were given as for what they carry. True when that changes
    /// anything.
    pub(super) fn outgrow(&mut self, loads: &BTreeMap<LinkId, Load>) -> bool {
        let mut changed = false;
        for (link, load) in loads {
            if load.rate * 100 >= self.given.capacity(*link).as_bps() * FAST_PERCENT {
                self.learn(*link, Rate::from_bps(load.rate));
                changed = true;
            }
        }
        changed
    }

    /// Whether all are taken for what they were given.
    pub(super) fn are_as_given(&self) -> bool {
        self.slow.is_empty()
    }

    /// Takes slow links for what they carry: the fewest that explain all slow hops, and of two the one nearer
    /// to the receiver. True when that changes anything.
    pub(super) fn blame<'a>(
        &mut self,
        hops: impl Iterator<Item = &'a Hop>,
        loads: &BTreeMap<LinkId, Load>,
        now: Time,
    ) -> bool {
        let suspect = |link: &LinkId| {
            let load = loads[link];
            !load.good && load.rate * 100 < self.now.capacity(*link).as_bps() * SLOW_PERCENT
        };
        let mut slow: Vec<Vec<LinkId>> = hops
            .filter(|hop| hop.is_slow())
            .map(|hop| hop.path.iter().copied().filter(suspect).collect())
            .filter(|path: &Vec<LinkId>| !path.is_empty())
            .collect();
        self.past.retain(|past| now <= past.at.saturating_add(RECENT));
        let changed = !slow.is_empty();
        while let Some(first) = slow.first() {
            let explains = |link: &LinkId| {
                let before = self.past.iter().filter(|past| past.suspects.contains(link)).count();
                slow.iter().filter(|path| path.contains(link)).count() + before
            };
            let worst = *first.iter().max_by_key(|link| explains(link)).expect("no path is empty");
            let (explained, rest): (Vec<_>, Vec<_>) =
                slow.into_iter().partition(|path| path.contains(&worst));
            slow = rest;
            self.acquit(worst);
            self.past.extend(explained.into_iter().map(|suspects| Past { at: now, suspects, blamed: worst }));
            self.slow_down(worst, loads[&worst].rate, now);
        }
        changed
    }

    /// `worst` was to blame for former slow hops too, not the one that was blamed.
    fn acquit(&mut self, worst: LinkId) {
        for past in self.past.iter_mut().filter(|past| past.suspects.contains(&worst)) {
            let blamed = std::mem::replace(&mut past.blamed, worst);
            if blamed != worst && self.slow.remove(&blamed).is_some() {
                self.now.set_capacity(blamed, self.given.capacity(blamed));
            }
        }
    }

    /// What was found of these links since then is forgotten: they carried nothing, which says nothing of
    /// their rates.
    pub(super) fn forget(&mut self, links: &[LinkId], since: Time) {
        for link in links {
            if self.slow.get(link).is_some_and(|slow| slow.since >= since) {
                self.slow.remove(link);
                self.now.set_capacity(*link, self.given.capacity(*link));
            }
        }
        self.past.retain(|past| past.at < since || !past.suspects.iter().any(|link| links.contains(link)));
    }

    fn slow_down(&mut self, link: LinkId, rate: u64, now: Time) {
        let mut least = self.given.capacity(link).as_bps().div_ceil(LEAST_PART);
        if rate == 0 {
            // Nothing came through: that may be an outage, and what is planned for next to nothing is noticed
            // late.
            least = least.max(self.now.capacity(link).as_bps() / OUTAGE_PART);
        }
        self.now.set_capacity(link, Rate::from_bps(rate.max(least)));
        let pause = self.slow.get(&link).map_or(TRY_AFTER, |slow| slow.pause.saturating_mul(2));
        let pause = pause.min(TRY_AFTER_MOST);
        self.slow.insert(link, Slow { since: now, retry: now.saturating_add(pause), pause });
    }

    /// Takes links that were slow for faster ones: those that carry all that is asked of them, and those that
    /// nobody has asked anything for long. True when that changes anything.
    pub(super) fn forgive(&mut self, loads: &BTreeMap<LinkId, Load>, now: Time) -> bool {
        let mut changed = false;
        for (link, slow) in self.slow.clone() {
            let (given, taken) = (self.given.capacity(link).as_bps(), self.now.capacity(link).as_bps());
            let load = loads.get(&link).copied().unwrap_or_default();
            let most = given - given / SHY_PART;
            if taken >= most {
                if now >= slow.retry {
                    // It has been right for long.
                    self.now.set_capacity(link, Rate::from_bps(given));
                    self.slow.remove(&link);
                }
                continue;
            }
            let eager = load.rate * 100 >= taken * FAST_PERCENT || load.paced && load.good;
            if load.held && !eager {
                // It is as slow as it is taken for.
                self.slow.insert(link, Slow { retry: now.saturating_add(slow.pause), ..slow });
            }
            let raised = match () {
                () if eager && now > slow.since => taken.saturating_mul(2).max(load.rate).min(most),
                () if !load.held && now >= slow.retry => most,
                () => continue,
            };
            let retry = now.saturating_add(slow.pause);
            self.slow.insert(link, Slow { since: now, retry, ..slow });
            self.now.set_capacity(link, Rate::from_bps(raised));
            changed = true;
        }
        changed
    }
}
