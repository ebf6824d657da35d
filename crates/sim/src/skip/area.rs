//! Areas: flows that meet, with the ports that they cross. What one area does changes nothing in another.
//!
//! Flows meet where data or acknowledgements of both cross a port, at a host, and in the shared memory of a
//! switch where that is short. A flow that does nothing is in no area; when it begins to send, the areas on
//! its way are no longer what they were.

use super::Skip;
use super::watch::{Steady, Watch};
use crate::flow::Flow;
use crate::host::Host;
use crate::key::{Kind, split};
use crate::run::Sim;
use crate::slab::Slab;
use fabric::PortId;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// No area.
pub(super) const NONE: u32 = u32::MAX;

/// An area, and where it stands.
#[derive(Debug)]
pub(super) struct Area {
    pub ground: Arc<Ground>,
    pub watch: Watch,
    /// What it does, if it has been seen to be steady.
    pub steady: Option<Steady>,
    /// It is passed over from then on, until it is due.
    pub asleep: Option<Time>,
    /// When it is looked at next, or wakes.
    pub due: Time,
}

impl Area {
    /// One that is watched from now on.
    pub(super) fn new(now: Time, ground: Arc<Ground>, watch: Watch) -> Area {
        let due = now + watch.interval();
        Area { ground, watch, steady: None, asleep: None, due }
    }
}

/// What is in an area, each in order.
#[derive(Debug, Default)]
pub(super) struct Ground {
    /// Slots of flows.
    pub flows: Vec<u32>,
    pub ports: Vec<PortId>,
    pub hosts: Vec<u32>,
    /// Processes at the ends of the flows.
    pub processes: Vec<u32>,
}

/// Where flows meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Port(PortId),
    Host(u32),
    Memory(u32),
}

/// Whether a flow does something, or will by itself: when a timer says so, or its turn at the NIC comes.
pub(super) fn is_busy(flow: &Flow) -> bool {
    flow.in_flight > 0 || flow.ends.iter().any(|end| end.ready || !end.tcp.is_quiet())
}

impl Sim {
    /// The ports that packets of a flow cross, in both directions; none where there is no route.
    pub(super) fn ports_of(&self, flow: &Flow) -> Vec<PortId> {
        let ways = flow.ends.iter().filter_map(|end| end.way);
        ways.flat_map(|way| self.net.fabric.path(way)).collect()
    }

    /// The grounds of busy flows that are in no area, by the first of their slots.
    pub(super) fn grounds(&self, skip: &Skip) -> Vec<Ground> {
        let has_ways = |flow: &Flow| flow.ends.iter().all(|end| end.way.is_some());
        let is_free = |(slot, flow): &(u32, &Flow)| {
            is_busy(flow) && has_ways(flow) && skip.area_of_flow(&self.flows, *slot) == NONE
        };
        let found: Vec<(u32, &Flow, Vec<PortId>)> =
            self.flows.iter().filter(is_free).map(|(slot, flow)| (slot, flow, self.ports_of(flow))).collect();
        // Of each flow one that it meets and that comes no later; at last the first of all.
        let mut leaders: Vec<usize> = (0..found.len()).collect();
        let mut first_at: BTreeMap<Place, usize> = BTreeMap::new();
        for (at, (_, flow, ports)) in found.iter().enumerate() {
            let hosts = flow.ends.iter().map(|end| Place::Host(end.host));
            let memories = ports.iter().filter_map(|port| self.net.fabric.memory_of(*port));
            let memories = memories.filter(|memory| skip.tight.contains(memory)).map(Place::Memory);
            for place in hosts.chain(memories).chain(ports.iter().copied().map(Place::Port)) {
                let other = *first_at.entry(place).or_insert(at);
                let (a, b) = (leader(&mut leaders, at), leader(&mut leaders, other));
                leaders[a.max(b)] = a.min(b);
            }
        }
        let mut grounds: BTreeMap<usize, Ground> = BTreeMap::new();
        for (at, (slot, flow, ports)) in found.iter().enumerate() {
            let ground = grounds.entry(leader(&mut leaders, at)).or_default();
            ground.flows.push(*slot);
            ground.ports.extend(ports);
            ground.hosts.extend(flow.ends.iter().map(|end| end.host));
            ground.processes.extend(flow.ends.iter().map(|end| end.process));
        }
        grounds.into_values().map(Ground::in_order).collect()
    }
}

impl Ground {
    fn in_order(mut self) -> Ground {
        self.ports.sort_unstable();
        self.ports.dedup();
        for numbers in [&mut self.hosts, &mut self.processes] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        self
    }
}

impl Skip {
    /// The area that a flow is in.
    pub(super) fn area_of_flow(&self, flows: &Slab<Flow>, slot: u32) -> u32 {
        let area = flows.get(slot).map_or(NONE, |flow| self.area_of_host[flow.ends[0].host as usize]);
        let is_in = |area: &Area| area.ground.flows.binary_search(&slot).is_ok();
        if self.areas.get(area).is_some_and(is_in) { area } else { NONE }
    }

    /// The area in which an event happens.
    pub(super) fn area_of_event(&self, flows: &Slab<Flow>, hosts: &[Host], key: u32) -> u32 {
        let at = |port: PortId| self.area_of_port[port.index()];
        match split(key) {
            (Kind::Transmit | Kind::Arrive | Kind::Pause | Kind::Room, port) => at(PortId(port)),
            (Kind::Nic, host) => at(hosts[host as usize].first_port),
            (Kind::Endpoint, id) => self.area_of_flow(flows, id >> 1),
            (Kind::Control | Kind::Timer | Kind::Work | Kind::Received | Kind::Outsider, _) => NONE,
        }
    }
}

/// The leader of a flow's leader, and so on; shortens the way there.
fn leader(leaders: &mut [usize], mut at: usize) -> usize {
    while leaders[at] != at {
        leaders[at] = leaders[leaders[at]];
        at = leaders[at];
    }
    at
}
