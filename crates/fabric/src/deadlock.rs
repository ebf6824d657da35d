//! Cyclic buffer dependencies: queues that are paused because of each other, for ever.
//!
//! A paused queue waits for the ingress group at the far end of its link; the group waits for the queues of
//! that switch that hold its packets. A queue is in deadlock when, even if all queues that are not in
//! deadlock drained, its group would hold too much to send XON: the largest set of queues for which that is
//! so is found by taking away those for which it isn't until nothing changes (Holt 1972, for resources shared
//! in units). The set, if not empty, holds a cycle.
//!
//! It is a state of the model, not a guess from time that has passed. The watchdog, or a link that fails, can
//! still break it.

use crate::fabric::Fabric;
use crate::ids::{NodeId, PortId};
use crate::pause::classes;
use crate::pfc::Group;

/// A queue: the port that would send, and the class.
pub type QueueId = (PortId, u8);

/// Queues that can't send any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Each waits for the next, the last for the first.
    pub cycle: Vec<QueueId>,
    /// All queues that are stuck, those of the cycle included.
    pub stuck: Vec<QueueId>,
}

/// A paused queue and what it waits for.
struct Waiter {
    queue: QueueId,
    group: Group,
    xon: u64,
    /// Paused queues at the far end that hold packets of its group, with their memory.
    behind: Vec<(usize, u64)>,
    stuck: bool,
}

impl Waiter {
    /// Whether its group can't come down to XON while `blocked` bytes stay.
    fn waits_on(&self, blocked: u64) -> bool {
        let drained = self.group.held - blocked;
        blocked > 0 && (blocked > self.xon || self.group.headroom > drained)
    }
}

impl<B: Copy + Default> Fabric<B> {
    /// A deadlock, if there is one now.
    pub fn deadlock(&self) -> Option<Deadlock> {
        Fabric::deadlock_of(&[self], |_| 0)
    }

    /// The same of a network in [parts](Fabric::cut): `of` says which of them runs a node.
    pub fn deadlock_of(parts: &[&Fabric<B>], of: impl Fn(NodeId) -> usize) -> Option<Deadlock> {
        let mut waiters = Parts { parts, of }.waiters();
        while let Some(free) = waiters.iter().position(|waiter| waiter.stuck && !held_up(waiter, &waiters)) {
            waiters[free].stuck = false;
        }
        let stuck: Vec<QueueId> = waiters.iter().filter(|w| w.stuck).map(|w| w.queue).collect();
        let first = waiters.iter().position(|waiter| waiter.stuck)?;
        Some(Deadlock { cycle: cycle(&waiters, first), stuck })
    }

    /// Whether a queue holds packets and is paused.
    fn is_held_up(&self, id: PortId, class: u8) -> bool {
        let classes = self.ports[id.index()].cold.classes.as_ref();
        classes.is_some_and(|classes| {
            classes.paused & (1 << class) != 0 && classes.queues[usize::from(class)].packets > 0
        })
    }

    /// Memory of the packets in a queue that came in by `own`.
    pub(crate) fn held_for(&self, (id, class): QueueId, own: PortId) -> u64 {
        let Some(classes) = self.ports[id.index()].cold.classes.as_ref() else { return 0 };
        let Some(pool) = classes.pool else { return 0 };
        let (pool, ring) = (&self.pools[pool as usize], &classes.queues[usize::from(class)].ring);
        let waiting = (0..ring.len()).map(|number| ring.get(ring.head().wrapping_add(number)));
        waiting.filter(|waiting| waiting.own == own).map(|waiting| pool.cells(waiting.packet.bytes)).sum()
    }
}

/// A network in parts, which are alike in all that does not change.
struct Parts<'a, B, F> {
    parts: &'a [&'a Fabric<B>],
    of: F,
}

impl<B: Copy + Default, F: Fn(NodeId) -> usize> Parts<'_, B, F> {
    /// The part that runs the port's node.
    fn at(&self, id: PortId) -> &Fabric<B> {
        self.parts[(self.of)(self.owner(id))]
    }

    fn owner(&self, id: PortId) -> NodeId {
        self.parts[0].ports[id.index()].cold.owner
    }

    /// The queues that hold packets and are paused for an ingress group at the far end, in order.
    fn waiters(&self) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for switch in 0..self.parts[0].pfcs.len() {
            let pfc = &self.at(PortId(self.parts[0].pfcs[switch].first)).pfcs[switch];
            for own in pfc.ports() {
                let (id, xon) = (self.parts[0].reverse(own), pfc.config.xon.get());
                for class in classes(pfc.config.classes).filter(|class| pfc.group(own, *class).xoff) {
                    if self.at(id).is_held_up(id, class) {
                        let (queue, group) = ((id, class), *pfc.group(own, class));
                        waiters.push(Waiter { queue, group, xon, behind: Vec::new(), stuck: true });
                    }
                }
            }
        }
        waiters.sort_by_key(|waiter| waiter.queue);
        for index in 0..waiters.len() {
            waiters[index].behind = self.behind(waiters[index].queue, &waiters);
        }
        waiters
    }

    fn behind(&self, (id, class): QueueId, waiters: &[Waiter]) -> Vec<(usize, u64)> {
        let own = self.parts[0].reverse(id);
        let switch = self.owner(own);
        let here =
            |(_, waiter): &(usize, &Waiter)| waiter.queue.1 == class && self.owner(waiter.queue.0) == switch;
        let held = |(index, waiter): (usize, &Waiter)| (index, self.at(own).held_for(waiter.queue, own));
        waiters.iter().enumerate().filter(here).map(held).filter(|(_, bytes)| *bytes > 0).collect()
    }
}

fn held_up(waiter: &Waiter, waiters: &[Waiter]) -> bool {
    waiter.waits_on(waiter.behind.iter().filter(|(other, _)| waiters[*other].stuck).map(|(_, n)| n).sum())
}

/// The cycle that one gets into from `at`, begun at its least queue.
fn cycle(waiters: &[Waiter], mut at: usize) -> Vec<QueueId> {
    let mut path: Vec<usize> = Vec::new();
    while !path.contains(&at) {
        path.push(at);
        let next = waiters[at].behind.iter().find(|(other, _)| waiters[*other].stuck);
        at = next.expect("a stuck queue waits for another").0;
    }
    let begin = path.iter().position(|index| *index == at).expect("where it closes");
    let mut cycle: Vec<QueueId> = path[begin..].iter().map(|index| waiters[*index].queue).collect();
    let least = (0..cycle.len()).min_by_key(|index| cycle[*index]).unwrap_or(0);
    cycle.rotate_left(least);
    cycle
}
