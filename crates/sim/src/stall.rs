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
#[derive(Debug, Default)]
pub(crate) struct Stall {
    /// The last fault that is to come.
    pub last_change: Time,
    /// The next look is scheduled.
    pending: bool,
    found: Option<Deadlock>,
    /// What the jobs had received at `since`, and not more until now.
    received: u64,
    since: Time,
    /// The run ends of it.
    pub is_end: bool,
}

impl Sim {
    /// A pause has begun, is renewed or ends: there is something to look at, at the next multiple of the
    /// interval.
    pub(crate) fn schedule_look(&mut self) {
        if !std::mem::replace(&mut self.stall.pending, true) {
            let at = Time::from_ps((self.net.now.as_ps() / LOOK.as_ps() + 1) * LOOK.as_ps());
            self.schedule_control(at, Control::Deadlocks);
        }
    }

    /// Looks for a deadlock; ends the run if nothing else can.
    pub(crate) fn look_for_deadlock(&mut self) {
        self.stall.pending = false;
        let found = self.net.fabric.deadlock();
        if found.as_ref().map(|deadlock| &deadlock.cycle)
            != self.stall.found.as_ref().map(|deadlock| &deadlock.cycle)
        {
            if let Some(deadlock) = &found {
                let place = self.describe_cycle(deadlock);
                self.records.events.push((self.net.now, "pfc-deadlock", place));
            }
            self.stall.since = self.net.now;
        }
        let received = if found.is_some() { self.received_by_jobs() } else { 0 };
        if received != self.stall.received {
            (self.stall.received, self.stall.since) = (received, self.net.now);
        }
        self.stall.found = found;
        let still = self.net.now - self.stall.since;
        let over = still >= LONG_PATIENCE || (still >= PATIENCE && self.works.iter().next().is_none());
        if over && self.is_for_ever() {
            self.stall.is_end = true;
            // What happens now is still to be done.
            self.until = self.net.now;
            self.stop = self.net.now;
        }
    }

    /// Whether nothing is to come that could break the deadlock that was found.
    fn is_for_ever(&self) -> bool {
        let watched = |id: PortId| self.net.fabric.has_watchdog(id);
        let lasts = |deadlock: &Deadlock| !deadlock.cycle.iter().any(|(id, _)| watched(*id));
        self.net.now >= self.stall.last_change && self.stall.found.as_ref().is_some_and(lasts)
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

    fn describe_cycle(&self, deadlock: &Deadlock) -> String {
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
