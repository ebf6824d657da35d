//! A part as the simulation of its own nodes: what crosses its border, and what others have to be told.

use crate::body::{Body, DATAGRAM, Extra};
use crate::flow::Ending;
use crate::key::{Kind, key, split};
use crate::records::FlowRecord;
use crate::run::Sim;
use fabric::{NodeId, Packet, PortId, Route};
use process::Payload;
use std::sync::Arc;
use units::Time;

/// Endpoints of other parts are named by their part as well: above these bits, plus one.
const SLOT_BITS: u32 = 25;
/// Parts at most.
pub(crate) const PARTS_MAX: usize = 100;
/// Not known yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// A flow that was opened since the parts met last has this bit in its number, and its place among those.
pub(crate) const UNNUMBERED: u32 = 1 << 31;

/// What a part knows beyond a whole simulation.
#[derive(Debug)]
pub(crate) struct Part {
    pub me: u8,
    /// By node: the part that runs it.
    pub of: Arc<[u8]>,
    /// Packets are handed over so long before they arrive.
    pub ahead: Time,
    /// Own ports whose far end is in another part.
    pub cut: Vec<PortId>,
    /// By port, of these: the other part.
    pub there: Vec<u8>,
    /// By part: what it is to be handed.
    pub out: Vec<Mail>,
    /// By part: what is known of it.
    others: Vec<Other>,
    pub news: News,
    /// The latest event so far in the order of the model, and the last process that it has concerned.
    turn: Place,
}

/// What a part knows of another.
#[derive(Clone, Debug, Default)]
struct Other {
    /// By a route's position here: whether it knows the route.
    told: Vec<bool>,
    /// By a route's position there: the route here.
    routes: Vec<Route>,
    /// By a flow's slot there: its slot here, if this is where its other end is.
    slots: Vec<u32>,
}

impl Other {
    #[cold]
    fn tell(&mut self, route: Route) {
        if self.told.len() <= route.index() {
            self.told.resize(route.index() + 1, false);
        }
        self.told[route.index()] = true;
    }

    fn learn_route(&mut self, there: Route, here: Route) {
        if self.routes.len() <= there.index() {
            self.routes.resize(there.index() + 1, Route::default());
        }
        self.routes[there.index()] = here;
    }
}

/// What a part hands another.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub packets: Vec<Crossing>,
    /// When the first of them arrives.
    pub first: Time,
    /// What few of these carry: they have its number here, plus one.
    extras: Vec<Carried>,
    /// Routes of these that the other has not seen: their position, and their ports.
    routes: Vec<(Route, Vec<PortId>)>,
}

/// A packet on a link between two parts.
#[derive(Debug)]
pub(crate) struct Crossing {
    pub arrive: Time,
    port: PortId,
    packet: Packet<Body>,
}

/// What few packets carry.
#[derive(Debug)]
struct Carried {
    extra: Extra,
    /// Of datagrams.
    job: u32,
}

/// What has happened since the parts met last that concerns others or the whole.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Flows opened, by what orders them among those of all parts.
    pub opened: Vec<(Place, u32)>,
    /// Written by the end here of a flow in that slot, for the other end to read.
    pub written: Vec<(u32, Payload)>,
    /// Packets of other parts' flows that are gone: when, the part, and the endpoint there.
    pub gone: Vec<(Time, u8, u32)>,
    /// Halves of flows that may be over.
    pub ended: Vec<u32>,
    /// Processes that are done: when, and their job.
    pub finished: Vec<(Time, u32)>,
    /// When the flows were released that were recorded.
    pub released: Vec<Time>,
    /// When deadlocks are to be looked for.
    pub look: Option<Time>,
    /// What watchdogs have found.
    pub told: Vec<(Place, Told)>,
}

/// An event for the user: when, what, and where.
pub(crate) type Told = (Time, &'static str, String);

/// Where something belongs in the order of the model: time, event, process if the event concerns several.
pub(crate) type Place = (Time, u32, u32);

/// What is known of a flow whose other end is in another part.
#[derive(Debug)]
pub(crate) struct Half {
    pub part: u8,
    /// Its slot there.
    pub slot: u32,
    /// The initial sequence number of the end that accepts.
    pub isn: u32,
    pub endings: Vec<(Time, Ending)>,
}

impl Half {
    pub(crate) fn new(part: u8, isn: u32) -> Box<Half> {
        Box::new(Half { part, slot: UNKNOWN, isn, endings: Vec::new() })
    }
}

impl News {
    pub(crate) fn is_empty(&self) -> bool {
        let News { opened, written, gone, ended, finished, released, look, told } = self;
        opened.is_empty()
            && written.is_empty()
            && gone.is_empty()
            && ended.is_empty()
            && finished.is_empty()
            && released.is_empty()
            && look.is_none()
            && told.is_empty()
    }
}

impl Part {
    pub(crate) fn new(me: usize, parts: usize, of: Arc<[u8]>, ahead: Time) -> Part {
        Part {
            me: me as u8,
            of,
            ahead,
            cut: Vec::new(),
            there: Vec::new(),
            out: (0..parts).map(|_| Mail::default()).collect(),
            others: vec![Other::default(); parts],
            news: News::default(),
            turn: (Time::ZERO, 0, 0),
        }
    }

    pub(crate) fn owns(&self, node: NodeId) -> bool {
        self.of[node.0 as usize] == self.me
    }

    /// Notes that an event happens. What it sets off at the same time belongs behind it.
    pub(crate) fn note(&mut self, now: Time, key: u32) {
        let (time, last, _) = self.turn;
        if time != now || key > last {
            self.turn = (now, key, 0);
        }
    }

    /// The place of what `process` does now.
    pub(crate) fn place(&mut self, process: u32) -> Place {
        // Only jobs that start and faults concern several parts.
        if self.turn.1 < key(Kind::Transmit, 0) {
            self.turn.2 = self.turn.2.max(process);
        }
        self.turn
    }

    /// Has the user told of something that happens now.
    pub(crate) fn tell(&mut self, told: Told) {
        self.news.told.push((self.turn, told));
    }

    /// The slot in `part` is that of the flow that is here in `slot`.
    pub(crate) fn learn_slot(&mut self, part: u8, there: u32, slot: u32) {
        let slots = &mut self.others[usize::from(part)].slots;
        if slots.len() <= there as usize {
            slots.resize(there as usize + 1, UNKNOWN);
        }
        slots[there as usize] = slot;
    }

    /// The endpoint here that is named so outside, or the same name if it is of no flow here.
    fn name_here(&self, name: u32) -> u32 {
        let (part, id) = split_name(name);
        if part == self.me {
            return id;
        }
        match self.others[usize::from(part)].slots.get((id >> 1) as usize) {
            Some(&slot) if slot != UNKNOWN => (slot << 1) | (id & 1),
            _ => name,
        }
    }

    /// A packet to an endpoint of another part is gone.
    pub(crate) fn miss(&mut self, now: Time, name: u32) {
        let (part, id) = split_name(name);
        self.news.gone.push((now, part, id));
    }
}

/// The name of an endpoint of part `me` elsewhere; one that has such a name keeps it.
fn name_outside(me: u8, id: u32) -> u32 {
    if id >> SLOT_BITS == 0 { ((u32::from(me) + 1) << SLOT_BITS) | id } else { id }
}

/// The part of an endpoint's name, and the endpoint there.
fn split_name(name: u32) -> (u8, u32) {
    (((name >> SLOT_BITS) - 1) as u8, name & ((1 << SLOT_BITS) - 1))
}

impl Sim {
    /// Becomes a part: only its own nodes do anything. What was to happen at set times, for all to do.
    pub(crate) fn become_part(&mut self, mut part: Part) -> Vec<(Time, u32)> {
        let mut controls = Vec::new();
        while let Some(entry) = self.net.outside.wheel.peek() {
            self.net.outside.wheel.pop();
            let (kind, index) = split(entry.key());
            assert_eq!(kind, Kind::Control, "nothing has begun");
            controls.push((entry.time, index));
        }
        for slot in &mut self.processes {
            if !part.owns(fabric::NodeId(slot.host)) {
                slot.process = None;
            }
        }
        let ports: Vec<fabric::PortId> = self.net.fabric.ports().collect();
        for port in ports {
            let (owner, peer) = self.net.fabric.ends(port);
            if part.owns(owner) && !part.owns(peer) {
                self.net.fabric.cut(port, part.ahead);
                part.cut.push(port);
                part.there.resize(port.index() + 1, part.me);
                part.there[port.index()] = part.of[peer.0 as usize];
            }
        }
        let fabric = &self.net.fabric;
        self.sampler.restrict(|port| part.owns(fabric.ends(port).0), |node| part.owns(node));
        self.part = Some(Box::new(part));
        controls
    }

    /// A job starts, a fault strikes or samples are taken, in all parts at once.
    pub(crate) fn do_control(&mut self, index: u32) {
        self.handle(Kind::Control, index);
        if self.net.outside.news {
            self.follow_up();
        }
    }

    /// Hands over what leaves for other parts up to a time, that included.
    fn hand_all_over(&mut self, until: Time) {
        let mut crossing = std::mem::take(&mut self.net.outside.crossing);
        crossing.retain_mut(|(at, port)| {
            while *at <= until {
                match self.net.fabric.hand_over(*port, until) {
                    Ok((at, packet)) => self.hand_over(*port, at, packet),
                    Err(Some(next)) => *at = next,
                    Err(None) => return false,
                }
            }
            true
        });
        self.net.outside.crossing = crossing;
    }

    /// Hands a packet to the part at the far end of `port`.
    fn hand_over(&mut self, port: PortId, at: Time, mut packet: Packet<Body>) {
        let net = &mut self.net;
        let part = self.part.as_mut().expect("only parts have cut links");
        let to = usize::from(part.there[port.index()]);
        let (mail, other) = (&mut part.out[to], &mut part.others[to]);
        let arrive = at + part.ahead;
        mail.first = if mail.packets.is_empty() { arrive } else { mail.first.min(arrive) };
        if packet.is_pause() {
            // It has neither route nor body.
            mail.packets.push(Crossing { arrive, port, packet });
            return;
        }
        if let Some(extra) = packet.body.extra.checked_sub(1).and_then(|slot| net.extras.remove(slot)) {
            let job =
                if let Extra::Datagram { pair, .. } = extra { self.pairs[pair as usize].job } else { 0 };
            mail.extras.push(Carried { extra, job });
            packet.body.extra = mail.extras.len() as u32;
        }
        if packet.body.to != DATAGRAM {
            packet.body.to = name_outside(part.me, packet.body.to);
        }
        if net.fabric.leads_to_host(port) {
            packet.route = Route::default();
        } else if !other.told.get(packet.route.index()).is_some_and(|told| *told) {
            other.tell(packet.route);
            mail.routes.push((packet.route, net.fabric.ports_ahead(packet.route)));
        }
        mail.packets.push(Crossing { arrive, port, packet });
    }

    /// Takes what another part has handed over.
    pub(crate) fn take_in(&mut self, from: usize, mail: &mut Mail) {
        let Mail { packets, extras, routes, first: _ } = mail;
        let part = self.part.as_mut().expect("only parts get mail");
        for (route, ports) in routes.drain(..) {
            part.others[from].learn_route(route, self.net.fabric.route_over(&ports));
        }
        // Each packet has the place of its own among these.
        let extras: Vec<u32> = extras.drain(..).map(|carried| self.unpack(carried)).collect();
        let part = self.part.as_ref().expect("a part");
        let routes = &part.others[from].routes;
        for Crossing { arrive, port, mut packet } in packets.drain(..) {
            if packet.is_pause() {
                self.net.fabric.take_over(port, arrive, &packet, &mut self.net.outside);
                continue;
            }
            // A packet that has come to its host has no route any more.
            packet.route = routes.get(packet.route.index()).copied().unwrap_or_default();
            if packet.body.to != DATAGRAM {
                packet.body.to = part.name_here(packet.body.to);
            }
            if packet.body.extra != 0 {
                packet.body.extra = extras[packet.body.extra as usize - 1] + 1;
            }
            self.net.fabric.take_over(port, arrive, &packet, &mut self.net.outside);
        }
    }

    /// Finds a slot for what a packet carries.
    fn unpack(&mut self, Carried { mut extra, job }: Carried) -> u32 {
        if let Extra::Datagram { from, to, pair, .. } = &mut extra {
            *pair = self.pair(job, from.host.0, to.host.0);
        }
        self.net.extras.insert(extra)
    }

    /// Runs what happens up to a time, that included.
    pub(crate) fn run_window(&mut self, end: Time) {
        self.stop = end;
        while !matches!(self.step(), None | Some(crate::Pause::Until)) {}
        self.hand_all_over(end);
    }

    /// Whether others have to be told something.
    pub(crate) fn has_news(&self) -> bool {
        !self.part.as_ref().expect("a part").news.is_empty() || !self.records.tasks.is_empty()
    }

    /// When something happens here next.
    pub(crate) fn first(&mut self) -> Time {
        let event = self.net.outside.wheel.peek().map(|entry| entry.time);
        self.net.outside.crossing.iter().map(|(at, _)| *at).chain(event).min().unwrap_or(Time::MAX)
    }

    /// Takes what was recorded of flows, and when each was released.
    pub(crate) fn take_flows(&mut self) -> Vec<(Time, FlowRecord)> {
        let part = self.part.as_mut().expect("a part");
        part.news.released.drain(..).zip(self.records.flows.drain(..)).collect()
    }
}
