//! One node a host: it fetches from its parents, serves its children, and follows the coordinator or is it.
//!
//! Here is what an event leads to; what is asked of whom is [`super::fetch`]'s business, what is sent [`super::serve`]'s,
//! who takes part [`super::coordinator`]'s, and whom a node follows [`super::follow`]'s.

use super::chunks::Chunks;
use super::config::{Config, ConfigError};
use super::coordinator::{Coordinator, Stand};
use super::fetch::Fetch;
use super::follow::Follow;
use super::link::Item;
use super::links::{Links, Role};
use super::message::Message;
use super::progress::{Board, Receiver, State};
use super::serve::{Serve, Shelf};
use super::set::ChunkSet;
use super::store::{Hash, Store, StoreError, hash};
use process::{Addr, Context, Event, HostId, Payload, Process, StreamId, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What timers are for; a host's pace has its number added.
pub(super) const TICK: u64 = 0;
const PLAN: u64 = 1;
pub(super) const HASH: u64 = 2;
const PACE: u64 = 1 << 32;

/// Chunks on their way to the disk at most.
const WRITES: usize = 8;
/// Times that a chunk may come damaged.
const DAMAGED_MOST: u32 = 5;

/// A chunk on its way to the disk.
struct Writing {
    chunk: u32,
    from: (HostId, StreamId),
    pieces: Vec<Payload>,
    hash: Hash,
}

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
    writing: BTreeMap<u64, Writing>,
    /// Running number of writes.
    writes: u64,
    /// Streams that wait to be read, because the disk has enough to do.
    unread: Vec<StreamId>,
    damaged: BTreeMap<u32, u32>,
    /// The hash over all chunks' hashes, and how far it is computed.
    pub(super) root: Option<Hash>,
    pub(super) hashed: Option<u32>,
    /// Times that the whole did not have the source's hash.
    pub(super) wrong: u32,
    pub(super) have: u32,
    received: u64,
    pub(super) complete: bool,
    pub(super) failed: bool,
    pub(super) over: bool,
    /// A tick is to come.
    pub(super) ticking: bool,
    pub(super) task: Option<TaskId>,
}

impl Node {
    /// A node of a broadcast, on whichever host it is started.
    ///
    /// # Errors
    /// The first field of `config` that can't be as it is.
    pub fn new(config: Arc<Config>, store: Box<dyn Store>) -> Result<Node, ConfigError> {
        config.check()?;
        let chunks = config.chunks;
        Ok(Node {
            store,
            board: Board::default(),
            me: config.source,
            links: Links::default(),
            serve: Serve::default(),
            fetch: Fetch::new(chunks, ChunkSet::default()),
            follow: Follow::default(),
            coordinator: None,
            writing: BTreeMap::new(),
            writes: 0,
            unread: Vec::new(),
            damaged: BTreeMap::new(),
            root: None,
            hashed: None,
            wrong: 0,
            have: 0,
            received: 0,
            complete: false,
            failed: false,
            over: false,
            ticking: false,
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
        let missing: ChunkSet = (0..self.chunks().count()).filter(|chunk| !self.store.have(*chunk)).collect();
        self.have = self.chunks().count() - missing.len();
        self.fetch = Fetch::new(self.chunks(), missing);
        let resumed = self.bytes();
        self.board.change(|progress| (progress.resumed, progress.state) = (resumed, State::Waiting));
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
            cx.set_timer(TICK, self.config.report);
        }
    }

    fn tick(&mut self, cx: &mut dyn Context) {
        self.ticking = false;
        if self.over {
            return cx.finish();
        }
        if self.failed {
            return self.show();
        }
        self.tick_on(cx);
        let now = cx.now();
        let edges = self.serve.edges(now);
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.measure(self.me, &edges, now);
        } else if let Some(stream) = self.follow.stream {
            self.links.send(stream, &Message::Report { chunks: self.have, edges }, cx);
        }
        self.look_at_coordinator(cx);
        self.connect(cx);
        self.look_at_parents(cx);
        self.look_at_members(cx);
        self.show();
    }

    /// Shares queues, and gives up what the dead owe.
    fn look_at_parents(&mut self, cx: &mut dyn Context) {
        let looks = self.config.patience.as_ps() / self.config.report.as_ps();
        for (host, stream) in self.fetch.overdue(looks as u32) {
            self.fetch.lost(host, stream);
            self.links.abort(stream, cx);
        }
        for stream in self.fetch.spent() {
            self.links.close(stream, cx);
        }
        let mut out = Vec::new();
        self.fetch.missing(ChunkSet::default(), &mut out);
        self.fetch.balance(&mut out);
        self.send_all(out, cx);
    }

    /// As the coordinator: who is gone, what has changed, is it over.
    fn look_at_members(&mut self, cx: &mut dyn Context) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let mut out = Vec::new();
        let (stand, gone) = coordinator.tick(&self.config, cx.now(), &mut out);
        self.send_all(out, cx);
        gone.into_iter().for_each(|host| self.lose(host, cx));
        self.gather(cx);
        self.plan_when_due(cx);
        if stand == Stand::Over {
            let members: Vec<StreamId> = self.members();
            members.into_iter().for_each(|stream| self.links.send(stream, &Message::Finish, cx));
            self.finish(cx);
        }
    }

    /// Streams of members.
    pub(super) fn members(&self) -> Vec<StreamId> {
        let members = self.coordinator.iter().flat_map(|coordinator| coordinator.members.values());
        members.filter_map(|member| member.stream).collect()
    }

    /// Plans if it is time, or sets a timer for it.
    pub(super) fn plan_when_due(&mut self, cx: &mut dyn Context) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let mut out = Vec::new();
        let now = cx.now();
        let planned = coordinator.plan(&self.config, now, &mut out);
        if let Some(due) = coordinator.due().filter(|due| *due > now) {
            cx.set_timer(PLAN, due.saturating_sub(now));
        }
        self.send_all(out, cx);
        if let Err(reason) = planned {
            self.abandon(&reason, cx);
        }
    }

    /// A host is gone: its streams lead nowhere.
    pub(super) fn lose(&mut self, host: HostId, cx: &mut dyn Context) {
        let mut out = Vec::new();
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.lose(host, cx.now(), &mut out);
        }
        self.part_with(host, cx);
        self.send_all(out, cx);
        self.plan_when_due(cx);
    }

    /// Drops the streams of chunks with a host, and as the coordinator that of its membership.
    pub(super) fn part_with(&mut self, host: HostId, cx: &mut dyn Context) {
        for (stream, role) in self.links.with(host) {
            if role != Role::Coordinator {
                self.forget(stream, role, host);
                self.links.abort(stream, cx);
            }
        }
    }

    /// What a stream was for is over.
    fn forget(&mut self, stream: StreamId, role: Role, host: HostId) {
        match role {
            Role::Parent => self.fetch.lost(host, stream),
            Role::Child => self.serve.remove(host, stream),
            Role::Unknown | Role::Coordinator | Role::Member => {}
        }
    }

    pub(super) fn send_all(&mut self, out: Vec<(StreamId, Message)>, cx: &mut dyn Context) {
        for (stream, message) in out {
            self.links.send(stream, &message, cx);
        }
    }

    /// Opens streams to parents that have none, and ends those to hosts that are none.
    pub(super) fn connect(&mut self, cx: &mut dyn Context) {
        if self.complete || self.failed {
            return;
        }
        let group = self.task.map_or(0, |task| task.0);
        for host in self.fetch.unconnected() {
            if host == self.me {
                continue;
            }
            let stream = cx.open(Addr { host, port: self.config.port }, group);
            self.links.add(stream, Role::Parent, host);
            let mut out = Vec::new();
            self.fetch.connected(host, stream, &mut out);
            self.send_all(out, cx);
        }
        for stream in self.fetch.spent() {
            self.links.close(stream, cx);
        }
    }

    /// Reads what has come on a stream.
    fn readable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        loop {
            if self.writing.len() >= WRITES && !self.unread.contains(&stream) {
                return self.unread.push(stream);
            }
            let Some(end) = self.links.get(stream) else { return };
            let (role, host) = (end.role, end.host);
            match end.link.receive(self.config.chunks, cx) {
                Err(_) => return self.broken(stream, cx),
                Ok(Some(item)) => {
                    if !self.take(stream, role, host, item, cx) {
                        return self.broken(stream, cx);
                    }
                }
                Ok(None) if end.link.ended() => {
                    self.closed(stream, cx);
                    return cx.close(stream);
                }
                Ok(None) => return,
            }
        }
    }

    /// A peer that says what it may not.
    fn broken(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.closed(stream, cx);
        cx.abort(stream);
    }

    /// A stream is gone.
    fn closed(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(end) = self.links.remove(stream) else { return };
        self.forget(stream, end.role, end.host);
        match end.role {
            Role::Parent => self.tell_coordinator(&Message::Unreachable { host: end.host }, cx),
            Role::Member => {
                let here = self.coordinator.as_ref().and_then(|c| c.members.get(&end.host));
                if here.is_some_and(|member| member.stream == Some(stream)) && !self.over {
                    self.lose(end.host, cx);
                }
            }
            Role::Coordinator => self.coordinator_closed(stream, cx),
            Role::Unknown | Role::Child => {}
        }
    }

    /// One thing that came; whether it may come there.
    fn take(&mut self, stream: StreamId, role: Role, host: HostId, item: Item, cx: &mut dyn Context) -> bool {
        match (role, item) {
            (Role::Unknown, Item::Message(message)) => self.greeted(stream, host, message, cx),
            (Role::Coordinator, Item::Message(message)) => self.told(stream, host, message, cx),
            (Role::Member, Item::Message(message)) => self.asked(stream, host, message, cx),
            (Role::Child, Item::Message(message)) => self.ordered(stream, host, message, cx),
            (Role::Parent, Item::Message(Message::Dropped { set })) => {
                let mut out = Vec::new();
                self.fetch.dropped(host, &set, &mut out);
                self.send_all(out, cx);
                for stream in self.fetch.spent() {
                    self.links.close(stream, cx);
                }
                true
            }
            (Role::Parent, Item::Chunk { number, ready, hash, pieces }) => {
                let came = self.fetch.came(host, number, ready).is_ok();
                if came {
                    let from = (host, stream);
                    self.received += self.chunks().len(number);
                    self.keep(Writing { chunk: number, from, pieces, hash }, cx);
                }
                came
            }
            _ => false,
        }
    }

    /// Who has opened a stream says what for.
    fn greeted(&mut self, stream: StreamId, host: HostId, message: Message, cx: &mut dyn Context) -> bool {
        let now = cx.now();
        let role = match message {
            Message::Fetch => {
                if let Some(before) = self.serve.add(host, stream, self.chunks().size(), now) {
                    self.links.abort(before, cx);
                }
                Role::Child
            }
            Message::Join { have } => {
                if !self.may_coordinate(now) {
                    let coordinator = self.follow.trusted();
                    self.links.send(stream, &Message::Elsewhere { coordinator }, cx);
                    return true;
                }
                if self.coordinator.is_none() {
                    self.stop_following(cx);
                    self.coordinate(cx);
                }
                let coordinator = self.coordinator.as_mut().expect("it is one now");
                match coordinator.join(host, stream, have, now) {
                    Err(()) => return false,
                    Ok(Some(before)) => self.links.abort(before, cx),
                    Ok(None) => {}
                }
                self.over = false;
                self.tick_on(cx);
                Role::Member
            }
            _ => return false,
        };
        if let Some(end) = self.links.get(stream) {
            end.role = role;
        }
        self.plan_when_due(cx);
        true
    }

    /// What a child says.
    fn ordered(&mut self, stream: StreamId, host: HostId, message: Message, cx: &mut dyn Context) -> bool {
        match message {
            Message::Want { class, now, set } => {
                let back = self.serve.want(host, class, now, &set, &*self.store);
                if !back.is_empty() {
                    self.links.send(stream, &Message::Dropped { set: back }, cx);
                }
            }
            Message::Drop { set } => {
                let set = self.serve.take_back(host, &set);
                self.links.send(stream, &Message::Dropped { set }, cx);
            }
            Message::Pace { rate } => self.serve.set_pace(host, rate, self.config.headroom, cx.now()),
            Message::Got { chunks } => {
                if !self.serve.got(host, chunks, cx.now()) {
                    return false;
                }
            }
            _ => return false,
        }
        self.pump(host, cx);
        true
    }

    /// Sends a child what can go.
    fn pump(&mut self, host: HostId, cx: &mut dyn Context) {
        let chunks = self.chunks();
        let shelf = Shelf { store: &mut *self.store, links: &mut self.links, cx: &mut *cx };
        match self.serve.pump(host, |chunk| chunks.len(chunk), shelf) {
            Ok(Some(wait)) => cx.set_timer(PACE | u64::from(host.0), wait),
            Ok(None) => {}
            Err(error) => self.fail(&error.0, cx),
        }
    }

    /// A chunk came: checks it, and keeps it when the disk has had its time.
    fn keep(&mut self, writing: Writing, cx: &mut dyn Context) {
        let Writing { chunk, from: (host, stream), .. } = writing;
        if hash(&writing.pieces) != writing.hash {
            self.board.change(|progress| progress.damaged += 1);
            let times = self.damaged.entry(chunk).or_default();
            *times += 1;
            if *times >= DAMAGED_MOST {
                let reason =
                    format!("chunk {chunk} came damaged {times} times, at last from host {}", host.0);
                return self.fail(&reason, cx);
            }
            let mut out = Vec::new();
            self.fetch.settled(host, stream, &mut out);
            self.fetch.damaged(host, chunk, &mut out);
            return self.send_all(out, cx);
        }
        if !self.config.disk {
            return self.write(&writing, cx);
        }
        self.writes += 1;
        cx.disk_write(self.writes, self.chunks().len(chunk));
        self.writing.insert(self.writes, writing);
    }

    fn write(&mut self, writing: &Writing, cx: &mut dyn Context) {
        let Writing { chunk, from: (host, stream), pieces, hash } = writing;
        if let Err(StoreError(reason)) = self.store.write(*chunk, pieces, hash) {
            return self.fail(&reason, cx);
        }
        self.have += 1;
        let mut out = Vec::new();
        self.fetch.settled(*host, *stream, &mut out);
        self.send_all(out, cx);
        for child in self.serve.arrived(*chunk) {
            self.pump(child, cx);
        }
        if self.have == self.chunks().count() {
            self.filled(cx);
        }
    }

    /// The disk has written a chunk.
    fn written(&mut self, token: u64, cx: &mut dyn Context) {
        let Some(writing) = self.writing.remove(&token) else { return };
        self.write(&writing, cx);
        for stream in std::mem::take(&mut self.unread) {
            self.readable(stream, cx);
        }
    }

    /// Shows how far it is.
    pub(super) fn show(&self) {
        let bytes_of = |chunks: u32| (u64::from(chunks) * self.chunks().size()).min(self.chunks().bytes());
        let receivers = self.coordinator.iter().flat_map(|coordinator| &coordinator.members);
        let receivers = receivers.map(|(host, member)| {
            let receiver = Receiver {
                present: member.stream.is_some(),
                bytes: if member.complete { self.chunks().bytes() } else { bytes_of(member.chunks) },
                complete: member.complete,
                failed: member.failed.clone(),
                stalled: member.stalled,
                rate: member.rate,
                planned: member.planned,
            };
            (*host, receiver)
        });
        let receivers: BTreeMap<HostId, Receiver> = receivers.collect();
        let (chunks, bytes) = (self.have, self.bytes());
        let coordinator = if self.coordinator.is_some() { Some(self.me) } else { self.follow.trusted() };
        self.board.change(|progress| {
            (progress.chunks, progress.bytes) = (chunks, bytes);
            (progress.received, progress.sent) = (self.received, self.serve.sent);
            progress.planned = self.fetch.planned();
            progress.parents = self.fetch.parents().map(|(host, parent)| (host, parent.bytes)).collect();
            (progress.coordinator, progress.receivers) = (coordinator, receivers);
        });
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
            Event::Timer { token } => self.pump(HostId(token as u32), cx),
            Event::DiskDone { token } => self.written(token, cx),
            Event::PeerLost { host } => self.peer_lost(host, cx),
            Event::Opened { .. } | Event::Datagram { .. } | Event::Computed { .. } => {}
        }
    }
}
