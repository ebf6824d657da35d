//! One node per host: it fetches from its parents, serves its children, and follows the coordinator or is it.
//!
//! This module has its state and dispatches events: [`super::streams`], [`super::children`],
//! [`super::writing`], [`super::look`], [`super::end`]. Requests to parents are in [`super::fetch`], sending
//! in [`super::serve`], membership in [`super::coordinator`], and the choice of a coordinator in
//! [`super::follow`].

use super::chunks::Chunks;
use super::compared::Compared;
use super::config::Config;
use super::coordinator::Coordinator;
use super::fetch::Fetch;
use super::followed::Follow;
use super::links::{Links, Role};
use super::message::Message;
use super::progress::{Board, State};
use super::serve::Serve;
use super::set::ChunkSet;
use super::store::{Hash, Store};
use super::writing::Writing;
use process::{Context, Event, HostId, Process, StreamId, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Problem, Time};

/// What timers are for; a host's pace has its number added.
pub(super) const TICK: u64 = 0;
pub(super) const PLAN: u64 = 1;
pub(super) const HASH: u64 = 2;
pub(super) const PROBE: u64 = 3;
pub(super) const PACE: u64 = 1 << 32;

/// A participant of a broadcast.
pub struct Node {
    pub(super) config: Arc<Config>,
    pub(super) store: Box<dyn Store>,
    pub(super) board: Board,
    pub(super) me: HostId,
    pub(super) links: Links,
    pub(super) serve: Serve,
    pub(super) fetch: Fetch,
    pub(super) follow: Follow,
    pub(super) coordinator: Option<Coordinator>,
    pub(super) writing: BTreeMap<u64, Writing>,
    /// Running number of writes.
    pub(super) writes: u64,
    /// Streams that wait to be read, because the disk has enough to do.
    pub(super) unread: Vec<StreamId>,
    pub(super) damaged: BTreeMap<u32, u32>,
    /// The hash over all chunks' hashes, and how far it is computed.
    pub(super) root: Option<Hash>,
    pub(super) hashed: Option<u32>,
    /// What was here before and is the source's, until all of it was compared.
    pub(super) compared: Option<Compared>,
    /// Times that the whole did not have the source's hash.
    pub(super) wrong: u32,
    pub(super) have: u32,
    pub(super) received: u64,
    /// When it was noted last how far it is.
    pub(super) sampled: Option<Time>,
    pub(super) complete: bool,
    pub(super) failed: bool,
    pub(super) over: bool,
    /// A tick is to come.
    pub(super) ticking: bool,
    /// The time of the last tick.
    pub(super) ticked: Time,
    pub(super) task: Option<TaskId>,
}

impl Node {
    /// A node of a broadcast, on whichever host it is started.
    ///
    /// # Errors
    /// The first field of `config` that can't be as it is.
    pub fn new(config: Arc<Config>, store: Box<dyn Store>) -> Result<Node, Problem> {
        config.check()?;
        let chunks = config.chunks;
        Ok(Node {
            store,
            board: Board::default(),
            me: config.source,
            links: Links::default(),
            serve: Serve::new(config.limit),
            fetch: Fetch::new(chunks, ChunkSet::default()),
            follow: Follow::default(),
            coordinator: None,
            writing: BTreeMap::new(),
            writes: 0,
            unread: Vec::new(),
            damaged: BTreeMap::new(),
            root: None,
            hashed: None,
            compared: None,
            wrong: 0,
            have: 0,
            received: 0,
            sampled: None,
            complete: false,
            failed: false,
            over: false,
            ticking: false,
            ticked: Time::ZERO,
            task: None,
            config,
        })
    }

    /// Where it shows how far it is.
    #[must_use]
    pub fn board(&self) -> Board {
        self.board.clone()
    }

    pub(super) fn chunks(&self) -> Chunks {
        self.config.chunks
    }

    /// The run begins, or the host has come back: what the store has stays.
    fn start(&mut self, cx: &mut dyn Context) {
        self.me = cx.host();
        self.links.clear();
        self.serve.clear();
        self.writing.clear();
        self.unread.clear();
        self.damaged.clear();
        (self.coordinator, self.follow) = (None, Follow::default());
        (self.root, self.hashed, self.wrong) = (None, None, 0);
        (self.complete, self.failed, self.over, self.ticking) = (false, false, false, false);
        self.compared = self.store.offers().then(Compared::default);
        self.take_stock();
        self.board.change(|progress| progress.state = State::Waiting);
        self.ticked = cx.now();
        cx.listen(self.config.port);
        self.tick_on(cx);
        if self.me == self.config.source {
            if self.have < self.chunks().count() {
                let reason = format!("the source lacks {} chunks", self.chunks().count() - self.have);
                return self.fail(&reason, cx);
            }
            self.complete = true;
            return self.coordinate(cx);
        }
        let number = self.config.destinations.iter().position(|host| *host == self.me).unwrap_or(0);
        self.task = Some(cx.begin_task("receive", number as u64));
        self.follow_first(cx);
    }

    /// Looks what is there and what is missing.
    pub(super) fn take_stock(&mut self) {
        let missing: ChunkSet = (0..self.chunks().count()).filter(|chunk| !self.store.have(*chunk)).collect();
        self.have = self.chunks().count() - missing.len();
        self.fetch = Fetch::new(self.chunks(), missing);
        let resumed = self.bytes();
        self.board.change(|progress| progress.resumed = resumed);
    }

    /// Bytes that are here, in whole chunks.
    pub(super) fn bytes(&self) -> u64 {
        let last = self.chunks().count().saturating_sub(1);
        let whole = u64::from(self.have) * self.chunks().size();
        let short = self.chunks().size() - self.chunks().len(last);
        if self.have > 0 && self.store.have(last) { whole - short } else { whole }
    }

    /// Takes the coordinator's part.
    pub(super) fn coordinate(&mut self, cx: &mut dyn Context) {
        let full = self.have == self.chunks().count();
        self.coordinator = Some(Coordinator::new(&self.config, self.me, full, cx.now()));
        self.board.change(|progress| progress.state = State::Running);
        self.tick_on(cx);
        self.filled(cx);
    }

    pub(super) fn tick_on(&mut self, cx: &mut dyn Context) {
        if !std::mem::replace(&mut self.ticking, true) {
            cx.set_timer(TICK, self.config.settings.report);
        }
    }

    pub(super) fn send_all(&mut self, out: Vec<(StreamId, Message)>, cx: &mut dyn Context) {
        for (stream, message) in out {
            self.links.send(stream, &message, cx);
        }
    }
}

impl Process for Node {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => self.start(cx),
            Event::Accepted { stream, from, .. } => self.links.add(stream, Role::Unknown, from.host),
            Event::Readable { stream } => self.readable(stream, cx),
            Event::Writable { stream } => {
                let Some(end) = self.links.get(stream) else { return };
                end.link.flush(cx);
                let (role, host) = (end.role, end.host);
                if role == Role::Child {
                    self.pump(host, cx);
                }
            }
            Event::Closed { stream, .. } => {
                self.links.ended(stream);
                self.closed(stream, cx);
                self.leave(cx);
            }
            Event::Timer { token: TICK } => self.tick(cx),
            Event::Timer { token: PLAN } => self.plan_when_due(cx),
            Event::Timer { token: HASH } => self.hash_on(cx),
            Event::Timer { token: PROBE } => self.look_at_train(cx),
            Event::Timer { token } => self.pump(HostId(token as u32), cx),
            Event::DiskDone { token } => self.written(token, cx),
            Event::PeerLost { host } => self.peer_lost(host, cx),
            Event::Opened { .. } | Event::Datagram { .. } | Event::Computed { .. } => {}
        }
    }
}
