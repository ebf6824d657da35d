//! Faults and other changes at given times.

use crate::endpoint::Stage;
use crate::flow::Ending;
use crate::host::NORMAL;
use crate::run::Sim;
use fabric::{NodeId, PortId};
use process::Event;
use process::rng;
use units::{Rate, Time};

/// Something that goes wrong, or comes right again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The host loses its processes' work and its connections, silently.
    Crash(u32),
    /// A crashed host comes back; its processes get their start event again.
    Restart(u32),
    /// Cores and disk run at so many millionths of their speed.
    Slow(u32, u64),
    /// The host asks its switches to pause a class without end, or stops doing so.
    PauseStorm(u32, u8, bool),
    /// All links between two nodes, both ways.
    Link(NodeId, NodeId, LinkChange),
}

/// What happens to a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkChange {
    /// It carries nothing; routes avoid it.
    Down,
    /// It is back.
    Up,
    /// Packets vanish with this probability.
    Loss(f64),
    /// Packets are damaged with this probability.
    Corrupt(f64),
    /// Its rate changes.
    Rate(Rate),
}

impl Change {
    fn name(&self) -> &'static str {
        match self {
            Change::Crash(_) => "crash",
            Change::Restart(_) => "restart",
            Change::Slow(..) => "slow",
            Change::PauseStorm(_, _, true) => "pause-storm",
            Change::PauseStorm(_, _, false) => "pause-storm-end",
            Change::Link(_, _, LinkChange::Down) => "link-down",
            Change::Link(_, _, LinkChange::Up) => "link-up",
            Change::Link(_, _, LinkChange::Loss(_)) => "loss",
            Change::Link(_, _, LinkChange::Corrupt(_)) => "corrupt",
            Change::Link(_, _, LinkChange::Rate(_)) => "rate",
        }
    }
}

impl Sim {
    pub(crate) fn apply(&mut self, change: Change) {
        let place = match change {
            Change::Crash(host) | Change::Restart(host) | Change::Slow(host, _) => self.name(NodeId(host)),
            Change::PauseStorm(host, class, _) => format!("{} class {class}", self.name(NodeId(host))),
            Change::Link(a, b, _) => format!("{}–{}", self.name(a), self.name(b)),
        };
        self.records.events.push((self.net.now, change.name(), place));
        match change {
            Change::Crash(host) => self.crash(host),
            Change::Restart(host) => self.restart(host),
            Change::Slow(host, speed) => self.net.hosts[host as usize].speed = speed.max(1),
            Change::PauseStorm(host, class, on) => {
                let is_here = self.part.as_ref().is_none_or(|part| part.owns(NodeId(host)));
                for port in self.net.fabric.ports_of(NodeId(host)).filter(|_| is_here) {
                    self.net.fabric.pause_storm(self.net.now, port, class, on, &mut self.net.outside);
                }
            }
            Change::Link(a, b, change) => self.change_link(a, b, change),
        }
    }

    fn crash(&mut self, host: u32) {
        let state = &mut self.net.hosts[host as usize];
        if !state.up {
            return;
        }
        state.up = false;
        state.life += 1;
        state.crashes += 1;
        state.speed = NORMAL;
        state.bound.clear();
        state.listening.clear();
        state.forget_turns();
        state.cores.fill(Time::ZERO);
        state.disk_free = Time::ZERO;
        self.lose_received(host);
        for process in 0..self.processes.len() as u32 {
            if self.processes[process as usize].host == host {
                self.timers.cancel_all(process);
            }
        }
        self.lose_tasks(host);
        let mut touched = Vec::new();
        for (slot, flow) in self.flows.iter_mut() {
            let mut breaks = false;
            for end in flow.ends.iter_mut().filter(|end| end.host == host) {
                if end.stage == Stage::Open {
                    end.stage = Stage::Dead;
                    breaks = true;
                }
                end.ready = false;
            }
            if breaks {
                flow.note(self.net.now, Ending::Crashed);
                touched.push(slot);
            }
        }
        for slot in touched {
            self.release(slot);
        }
    }

    fn restart(&mut self, host: u32) {
        if self.net.hosts[host as usize].up {
            return;
        }
        self.net.hosts[host as usize].up = true;
        let begun = |process: &u32| {
            let slot = &self.processes[*process as usize];
            slot.host == host && self.jobs[slot.job as usize].start <= self.net.now
        };
        let mut begun: Vec<u32> = (0..self.processes.len() as u32).filter(begun).collect();
        let name = |process: &u32| &self.jobs[self.processes[*process as usize].job as usize].name;
        begun.sort_by(|a, b| name(a).cmp(name(b)));
        for process in begun {
            self.tell(process, Event::Start);
        }
    }

    /// Ports of all links between two nodes.
    fn ports_between(&self, a: NodeId, b: NodeId) -> Vec<PortId> {
        let ends =
            |id: &PortId| matches!(self.net.fabric.ends(*id), (x, y) if (x, y) == (a, b) || (x, y) == (b, a));
        self.net.fabric.ports().filter(ends).collect()
    }

    /// A change is to come.
    pub(crate) fn expect(&mut self, change: Change) {
        if let Change::Link(a, b, LinkChange::Down | LinkChange::Rate(_)) = change {
            for port in self.ports_between(a, b) {
                self.net.fabric.expect_changes(port);
            }
        }
    }

    fn change_link(&mut self, a: NodeId, b: NodeId, change: LinkChange) {
        let ports = self.ports_between(a, b);
        let seed = rng::split(self.seed, "link faults");
        for port in ports {
            match change {
                LinkChange::Down => {
                    let now = self.net.now;
                    self.net.fabric.take_down(now, port, &mut self.net.outside);
                    // These were captured when they entered their queue, and are lost there.
                    self.records.packets.retain(|packet| packet.port != port || packet.time <= now);
                }
                LinkChange::Up => self.net.fabric.bring_up(self.net.now, port),
                LinkChange::Loss(p) => self.net.fabric.set_loss(port, p, seed),
                LinkChange::Corrupt(p) => self.net.fabric.set_corrupt(port, p, seed),
                LinkChange::Rate(rate) => {
                    self.net.fabric.set_rate(self.net.now, port, rate, &mut self.net.outside);
                    self.show_later(port);
                    self.heed_rate(port);
                }
            }
        }
        if matches!(change, LinkChange::Down | LinkChange::Up) {
            let slots: Vec<u32> = self.flows.iter().map(|(slot, _)| slot).collect();
            for slot in slots {
                self.find_ways(slot);
            }
        }
    }

    /// The rate of `port` has changed: if it is a host's, as many bytes as before may wait there.
    fn heed_rate(&mut self, port: PortId) {
        let owner = self.net.fabric.ends(port).0;
        if !self.graph.is_host(owner) {
            return;
        }
        self.net.set_nic(owner.0, port);
        let slots: Vec<u32> = self.flows.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.heed_limits(slot);
        }
    }

    /// Packets that wait at a captured port leave at other times than it seemed when they were captured.
    fn show_later(&mut self, port: PortId) {
        let now = self.net.now;
        let waiting =
            self.records.packets.iter_mut().filter(|packet| packet.port == port && packet.time > now);
        for (packet, start) in waiting.zip(self.net.fabric.starts(port)) {
            packet.time = start;
        }
    }
}
