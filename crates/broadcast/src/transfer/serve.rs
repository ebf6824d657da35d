//! The sending side: one queue per child.
//!
//! A child says which chunks it wants and in which order of classes. Each is sent as soon as it is there, at
//! the child's pace, with little in transit ([`super::flight`]), so that the child can still withdraw what
//! was not sent. A chunk is read from the store when it is sent: a slow child holds nothing that others wait
//! for.

use super::flight::Flight;
use super::links::Links;
use super::message::{Edge, Message};
use super::pace::{Limit, Pace};
use super::probing::Probing;
use super::ranked::{AWAITED, OWN, Ranked};
use super::set::ChunkSet;
use super::store::{Store, StoreError};
use process::{Context, HostId, StreamId};
use std::collections::BTreeMap;
use units::{Rate, Time};

/// What keeps a parent from sending to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Nothing that the child wants is there.
    Starved,
    /// Its pace, for so long.
    Paced(Time),
    /// The network, or the child, does not take more.
    Network,
}

/// A child.
#[derive(Debug)]
pub(crate) struct Child {
    pub stream: StreamId,
    /// Wanted and not there.
    waiting: Ranked,
    /// Wanted and there.
    ready: Ranked,
    flight: Flight,
    pace: Pace,
    /// When the host's limit lets its next chunk go.
    turn: Option<Time>,
    held: Held,
    since: Time,
    /// Chunks that it has confirmed.
    got: u32,
    edge: Edge,
}

impl Child {
    fn new(host: HostId, stream: StreamId, chunk: u64, now: Time) -> Child {
        let edge = Edge { child: host, bytes: 0, micros: 0, network_micros: 0, paced_micros: 0 };
        Child {
            stream,
            waiting: Ranked::default(),
            ready: Ranked::default(),
            flight: Flight::new(chunk),
            pace: Pace::default(),
            turn: None,
            held: Held::Starved,
            since: now,
            got: 0,
            edge,
        }
    }

    /// Books the time up to now to what held it.
    fn account(&mut self, now: Time) {
        let micros = now.saturating_sub(self.since).as_us();
        self.since = self.since.saturating_add(Time::from_us(micros));
        self.edge.micros += micros;
        match self.held {
            Held::Starved => {}
            Held::Paced(_) => self.edge.paced_micros += micros,
            Held::Network => self.edge.network_micros += micros,
        }
    }
}

/// What serving needs of its node.
pub(crate) struct Shelf<'a> {
    pub store: &'a mut dyn Store,
    pub links: &'a mut Links,
    pub cx: &'a mut dyn Context,
    /// What is found out of children's rates, when they are not known.
    pub probing: Option<&'a mut Probing>,
}

/// All children of a node.
#[derive(Debug, Default)]
pub(crate) struct Serve {
    children: BTreeMap<HostId, Child>,
    limit: Option<Limit>,
    /// Bytes sent.
    pub sent: u64,
}

impl Serve {
    /// Nobody is served; all together will be at this rate at most.
    pub(crate) fn new(limit: Option<Rate>) -> Serve {
        Serve { limit: limit.map(Limit::new), ..Serve::default() }
    }

    /// A child has opened a stream; the one it had before, if any.
    pub(crate) fn add(&mut self, host: HostId, stream: StreamId, chunk: u64, now: Time) -> Option<StreamId> {
        self.children.insert(host, Child::new(host, stream, chunk, now)).map(|child| child.stream)
    }

    /// A child's stream is gone.
    pub(crate) fn remove(&mut self, host: HostId, stream: StreamId) {
        if self.children.get(&host).is_some_and(|child| child.stream == stream) {
            self.children.remove(&host);
        }
    }

    /// The child wants chunks; those that it does not get now, when it wants no others.
    pub(crate) fn want(
        &mut self,
        host: HostId,
        class: u8,
        now: bool,
        set: &ChunkSet,
        store: &dyn Store,
    ) -> ChunkSet {
        let mut back = ChunkSet::default();
        let Some(child) = self.children.get_mut(&host) else { return back };
        for chunk in set.iter() {
            let has = store.have(chunk);
            if now && !has {
                back.insert(chunk);
            } else {
                let sets = if has { &mut child.ready } else { &mut child.waiting };
                sets.insert(class, chunk);
            }
        }
        back
    }

    /// The child takes chunks back; those that were not sent.
    pub(crate) fn take_back(&mut self, host: HostId, set: &ChunkSet) -> ChunkSet {
        let Some(child) = self.children.get_mut(&host) else { return ChunkSet::default() };
        let mut took =
            |chunk: &u32| child.waiting.remove(*chunk).or_else(|| child.ready.remove(*chunk)).is_some();
        set.iter().filter(|chunk| took(chunk)).collect()
    }

    /// The child wants chunks sooner or later than before.
    pub(crate) fn rank(&mut self, host: HostId, class: u8, set: &ChunkSet) {
        let Some(child) = self.children.get_mut(&host) else { return };
        for chunk in set.iter() {
            for ranked in [&mut child.waiting, &mut child.ready] {
                if ranked.class(chunk).is_some() {
                    ranked.insert(class, chunk);
                }
            }
        }
    }

    /// Chunks that are not there and that children wait for, for their own trees or for others behind them.
    pub(crate) fn awaited(&self) -> ChunkSet {
        let classes = |child: &Child| [AWAITED, OWN].map(|class| child.waiting.of(class).clone());
        let mut all = self.children.values().flat_map(classes);
        let mut awaited = all.next().unwrap_or_default();
        all.for_each(|set| awaited.extend(&set));
        awaited
    }

    /// The plan's rate for the child, in bit/s.
    pub(crate) fn set_pace(&mut self, host: HostId, rate: u64, percent: Option<u32>, now: Time) {
        if let Some(child) = self.children.get_mut(&host) {
            child.pace.set(rate, percent, now);
        }
    }

    /// The child has so many chunks of this stream in all; false when that can't be.
    pub(crate) fn got(&mut self, host: HostId, chunks: u32, now: Time) -> bool {
        let Some(child) = self.children.get_mut(&host) else { return true };
        while child.got < chunks {
            let Some(bytes) = child.flight.on_got(now) else { return false };
            child.edge.bytes += bytes;
            child.got += 1;
        }
        true
    }

    /// A chunk is there now; the children that wait for it.
    pub(crate) fn arrived(&mut self, chunk: u32) -> Vec<HostId> {
        let mut fed = Vec::new();
        for (host, child) in &mut self.children {
            if let Some(class) = child.waiting.remove(chunk) {
                child.ready.insert(class, chunk);
                fed.push(*host);
            }
        }
        fed
    }

    /// All children.
    pub(crate) fn hosts(&self) -> Vec<HostId> {
        self.children.keys().copied().collect()
    }

    /// Sends a child what can go now; how long its pace makes the next chunk wait, if that is what holds it.
    ///
    /// # Errors
    /// A chunk can't be read.
    pub(crate) fn pump(
        &mut self,
        host: HostId,
        bytes_of: impl Fn(u32) -> u64,
        mut shelf: Shelf<'_>,
    ) -> Result<Option<Time>, StoreError> {
        let Some(child) = self.children.get_mut(&host) else { return Ok(None) };
        let Some(end) = shelf.links.get(child.stream) else { return Ok(None) };
        let now = shelf.cx.now();
        child.account(now);
        child.held = loop {
            let Some(chunk) = child.ready.first() else { break Held::Starved };
            if !end.link.is_flushed() || !child.flight.has_room(bytes_of(chunk)) {
                break Held::Network;
            }
            if shelf.probing.as_mut().is_some_and(|probing| !probing.may_send(host, child.got, now)) {
                break Held::Starved;
            }
            match child.pace.wait(now) {
                Time::ZERO => {}
                wait => break Held::Paced(wait),
            }
            if let Some(limit) = &mut self.limit {
                let turn = *child.turn.get_or_insert_with(|| limit.book(bytes_of(chunk), now));
                if turn > now {
                    break Held::Paced(turn.saturating_sub(now));
                }
                child.turn = None;
            }
            child.ready.remove(chunk);
            let (content, hash) = shelf.store.read(chunk)?;
            let bytes = content.len();
            let message = Message::Chunk { number: chunk, ready: child.ready.len(), hash };
            end.link.send_chunk(&message, content, shelf.cx);
            child.flight.on_sent(bytes, now);
            child.pace.on_sent(bytes, now);
            self.sent += bytes;
            if let Some(probing) = &mut shelf.probing {
                probing.sent(host);
            }
        };
        Ok(if let Held::Paced(wait) = child.held { Some(wait) } else { None })
    }

    /// How data went to the children since the last call.
    pub(crate) fn edges(&mut self, now: Time) -> Vec<Edge> {
        let edge = |child: &mut Child| {
            child.account(now);
            let fresh = Edge { bytes: 0, micros: 0, network_micros: 0, paced_micros: 0, ..child.edge };
            std::mem::replace(&mut child.edge, fresh)
        };
        self.children.values_mut().map(edge).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.children.clear();
    }
}
