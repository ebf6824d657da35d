//! Deadlocks of priority-based flow control: told when found, and the end of a run that can't go on.
//!
//! Pauses that are renewed are events, so a deadlocked network never falls silent. While there are pauses, a
//! look every 100 ms of simulated time asks the fabric for cyclic waits. The run ends when a cycle lasts that
//! neither a watchdog nor a fault to come can break, and the jobs that it waits for get no data meanwhile.

use crate::run::{Control, Sim};
use fabric::{Deadlock, PortId};
use units::Time;

/// Time between looks.
const LOOK: Time = Time::from_ms(100);
/// So long nothing may arrive while no host computes.
const PATIENCE: Time = Time::from_secs(1);
/// So long nothing may arrive in any case.
const LONG_PATIENCE: Time = Time::from_secs(60);

/// What the looks have found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stall {
    /// The last fault that is to come.
    pub last_change: Time,
    /// The next look is scheduled.
    pub pending: bool,
    found: Option<Deadlock>,
    /// What the jobs had received at `since`, and not more until now.
    received: u64,
    since: Time,
    /// The run ends of it.
    pub is_end: bool,
}

/// What a look sees.
pub(crate) struct Seen {
    pub deadlock: Option<Deadlock>,
    /// Whether a watchdog looks at a queue of its cycle.
    pub is_watched: bool,
    /// What the jobs that the run waits for have received.
    pub received: u64,
    /// Whether a host computes.
    pub computes: bool,
}

/// The time of the next look.
pub(crate) fn next_look(now: Time) -> Time {
    Time::from_ps((now.as_ps() / LOOK.as_ps() + 1) * LOOK.as_ps())
}

impl Stall {
    /// Takes in what a look sees; the deadlock if it is another than before. The run ends if nothing is to
    /// come that could break it.
    pub(crate) fn see(&mut self, now: Time, seen: Seen) -> Option<Deadlock> {
        self.pending = false;
        let cycle = |found: &Option<Deadlock>| found.as_ref().map(|deadlock| deadlock.cycle.clone());
        let is_other = cycle(&seen.deadlock) != cycle(&self.found);
        if is_other || seen.received != self.received {
            (self.received, self.since) = (seen.received, now);
        }
        self.found = seen.deadlock;
        let still = now - self.since;
        let is_long = still >= LONG_PATIENCE || (still >= PATIENCE && !seen.computes);
        self.is_end |= is_long && now >= self.last_change && self.found.is_some() && !seen.is_watched;
        self.found.clone().filter(|_| is_other)
    }
}

impl Sim {
    /// A pause has begun, is renewed or ends: there is something to look at, at the next multiple of the
    /// interval.
    pub(crate) fn schedule_look(&mut self) {
        if std::mem::replace(&mut self.stall.pending, true) {
            return;
        }
        let at = next_look(self.net.now);
        match &mut self.part {
            Some(part) => part.news.look = Some(at),
            None => self.schedule_control(at, Control::Deadlocks),
        }
    }

    /// Looks for a deadlock; ends the run if nothing else can.
    pub(crate) fn look_for_deadlock(&mut self) {
        let deadlock = self.net.fabric.deadlock();
        let now = self.net.now;
        let seen = Seen {
            is_watched: deadlock.as_ref().is_some_and(|deadlock| self.is_watched(deadlock)),
            received: deadlock.as_ref().map_or(0, |_| self.received_by_jobs()),
            computes: self.computes(),
            deadlock,
        };
        if let Some(deadlock) = self.stall.see(now, seen) {
            let place = self.describe_cycle(&deadlock);
            self.records.events.push((now, "pfc-deadlock", place));
        }
        if self.stall.is_end {
            // What happens now is still to be done.
            self.until = now;
            self.stop = now;
        }
    }

    /// Whether a watchdog looks at a queue of the deadlock's cycle.
    pub(crate) fn is_watched(&self, deadlock: &Deadlock) -> bool {
        deadlock.cycle.iter().any(|(id, _)| self.net.fabric.has_watchdog(*id))
    }

    /// Whether a host computes or uses its disk.
    pub(crate) fn computes(&self) -> bool {
        self.works.iter().next().is_some()
    }

    /// Bytes that the jobs which the run waits for have received.
    pub fn received_by_jobs(&self) -> u64 {
        let waited = |job: u32| !self.jobs[job as usize].background;
        let jobs = self.jobs.iter().filter(|job| !job.background).map(|job| job.bytes);
        let flows = self.flows.iter().filter(|(_, flow)| waited(flow.job));
        let open = flows.map(|(_, flow)| flow.received(0) + flow.received(1));
        let pairs = self.pairs.iter().filter(|pair| waited(pair.job)).map(|pair| pair.received_bytes);
        jobs.chain(open).chain(pairs).sum()
    }

    /// The queues of the deadlock that the run has ended of, or is in: each waits for the next.
    pub fn deadlock(&self) -> Option<Deadlock> {
        self.net.fabric.deadlock()
    }

    pub(crate) fn describe_cycle(&self, deadlock: &Deadlock) -> String {
        let queues: Vec<String> =
            deadlock.cycle.iter().map(|(id, class)| self.describe_queue(*id, *class)).collect();
        queues.join(" → ")
    }

    /// A queue of a port, for events: `leaf0:spine1 class 3`, `leaf0:spine1#2 class 3`.
    pub(crate) fn describe_queue(&self, id: PortId, class: u8) -> String {
        let (node, peer) = self.net.fabric.ends(id);
        let before = self.net.fabric.ports_of(node).filter(|other| *other < id);
        let number = 1 + before.filter(|other| self.net.fabric.ends(*other).1 == peer).count();
        let which = if number > 1 { format!("#{number}") } else { String::new() };
        format!("{}:{}{which} class {class}", self.graph.name(node), self.graph.name(peer))
    }
}
