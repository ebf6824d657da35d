//! The application master, and what it needs of the ResourceManager and the NameNode: gives tasks to nodes
//! in answer to their heartbeats, or with its own next one, tells reduces of finished maps, chooses data
//! nodes for blocks, notices lost nodes.
//!
//! One process stands for all three: RPCs among them stay on the management nodes.

use crate::link::Link;
use crate::master_calls::{MasterCalls, Next};
use crate::prepared::{PreparedJob, sample};
use crate::schedule::Schedule;
use crate::wire::{COMPLETED_MAX, Kind, Message};
use process::{Context, Event, HostId, Process, StreamId, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::Time;

/// Timers of the job; those of nodes lie above.
const BEGIN: u64 = 0;
const COMMITTED: u64 = 1;
const SUBMITTED: u64 = 2;
const HEARTBEAT: u64 = 3;
const NODES: u64 = 16;
/// Failed fetches of a map's output after which the map runs again (MAX_FETCH_FAILURES_NOTIFICATIONS).
const FETCH_FAILURES: u32 = 3;

/// How far the job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The application master is being started.
    Starting,
    Running,
    Committing,
    /// Nodes are ending their containers.
    Finishing,
    Done,
    Failed,
}

/// A compute node as the master knows it.
#[derive(Debug)]
struct Node {
    stream: StreamId,
    running: BTreeSet<(Kind, u32)>,
    /// Containers that wait for another task.
    idle: u32,
}

/// The master.
#[derive(Debug)]
pub(crate) struct Master {
    prepared: Arc<PreparedJob>,
    stage: Stage,
    task: Option<TaskId>,
    schedule: Schedule,
    links: BTreeMap<StreamId, (HostId, Link)>,
    nodes: BTreeMap<HostId, Node>,
    /// Containers of which the application master hears with its next heartbeat, and their tasks.
    granted: Vec<(HostId, Kind, u32)>,
    /// Finished maps in order.
    events: Vec<(u32, HostId)>,
    /// Where each map's output is.
    outputs: Vec<Option<HostId>>,
    fetch_failures: BTreeMap<u32, u32>,
    calls: MasterCalls,
}

impl Master {
    pub(crate) fn new(prepared: Arc<PreparedJob>) -> Master {
        Master {
            stage: Stage::Starting,
            task: None,
            schedule: Schedule::new(&prepared),
            links: BTreeMap::new(),
            nodes: BTreeMap::new(),
            granted: Vec::new(),
            events: Vec::new(),
            outputs: vec![None; prepared.maps as usize],
            fetch_failures: BTreeMap::new(),
            calls: MasterCalls::default(),
            prepared,
        }
    }

    fn tell(&mut self, host: HostId, message: &Message, cx: &mut dyn Context) {
        let link = self.nodes.get(&host).and_then(|node| self.links.get_mut(&node.stream));
        if let Some((_, link)) = link {
            link.send(message, cx);
        }
    }

    fn tell_all(&mut self, message: &Message, cx: &mut dyn Context) {
        for host in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.tell(host, message, cx);
        }
    }

    /// Makes `n` calls from the application master's node and sets a timer after them.
    fn call(&mut self, n: u32, token: u64, delay: Time, cx: &mut dyn Context) {
        let next = self.calls.before(n, token, delay, self.nodes.keys().next().copied());
        self.go_on(next, cx);
    }

    fn go_on(&mut self, next: Next, cx: &mut dyn Context) {
        match next {
            Next::Call(node) => self.tell(node, &Message::Call { work: 0 }, cx),
            Next::Timer(token, delay) => cx.set_timer(token, delay),
            Next::Wait => {}
        }
    }

    /// Gives up to `limit` tasks to a node; only to containers that it has when `reuse`.
    fn assign(&mut self, host: HostId, limit: u32, reuse: bool, cx: &mut dyn Context) {
        for _ in 0..limit {
            let slots = self.prepared.job.slots as usize;
            let Some(node) = self.nodes.get_mut(&host) else { return };
            let again = node.idle > 0;
            if !again && (reuse || node.running.len() >= slots) {
                return;
            }
            let next = if again { self.schedule.next_again() } else { self.schedule.next() };
            let Some((kind, number)) = next else { return };
            node.idle -= u32::from(again);
            node.running.insert((kind, number));
            if again || self.prepared.job.costs.master_heartbeat == Time::ZERO {
                self.tell(host, &Message::Run { kind, number, reuse: again }, cx);
            } else {
                self.granted.push((host, kind, number));
            }
        }
    }

    /// Maps have to run again while reduces that wait for them hold all containers: one makes room.
    fn preempt(&mut self, host: HostId, cx: &mut dyn Context) {
        let maps_run =
            self.nodes.values().any(|node| node.running.iter().any(|(kind, _)| *kind == Kind::Map));
        let full = |node: &Node| node.running.len() >= self.prepared.job.slots as usize;
        if maps_run || !self.schedule.maps_wait() || !self.nodes.values().all(full) {
            return;
        }
        let Some(node) = self.nodes.get_mut(&host) else { return };
        let Some((kind, reduce)) = node.running.pop_last() else { return };
        self.schedule.again(kind, reduce);
        self.granted.retain(|granted| *granted != (host, kind, reduce));
        // Not the next task in turn: that could be the reduce again.
        let map = self.schedule.next_map();
        node.running.extend(map.map(|map| (Kind::Map, map)));
        self.tell(host, &Message::Kill { reduce }, cx);
        if let Some(map) = map {
            self.tell(host, &Message::Run { kind: Kind::Map, number: map, reuse: false }, cx);
        }
    }

    fn heartbeat(&mut self, host: HostId, cx: &mut dyn Context) {
        cx.set_timer(NODES + u64::from(host.0), self.prepared.job.costs.node_expiry);
        if self.stage == Stage::Running {
            self.assign(host, self.prepared.job.costs.assignments, false, cx);
            self.preempt(host, cx);
        }
    }

    /// The application master hears of containers, and asks for others.
    fn master_heartbeat(&mut self, cx: &mut dyn Context) {
        if self.stage != Stage::Running {
            return;
        }
        for (host, kind, number) in std::mem::take(&mut self.granted) {
            self.tell(host, &Message::Run { kind, number, reuse: false }, cx);
        }
        self.schedule.ask();
        cx.set_timer(HEARTBEAT, self.prepared.job.costs.master_heartbeat);
    }

    fn done(&mut self, host: HostId, kind: Kind, number: u32, cx: &mut dyn Context) {
        let Some(node) = self.nodes.get_mut(&host) else { return };
        if !node.running.remove(&(kind, number)) {
            return;
        }
        node.idle += u32::from(self.prepared.tez());
        self.schedule.done(kind);
        if kind == Kind::Map {
            self.events.push((number, host));
            self.outputs[number as usize] = Some(host);
            self.fetch_failures.remove(&number);
        }
        if self.schedule.complete() {
            if self.stage == Stage::Running {
                self.stage = Stage::Committing;
                let costs = &self.prepared.job.costs;
                let (n, delay) = (costs.commit_rpcs, costs.job_commit + self.prepared.unregistering());
                self.call(n, COMMITTED, delay, cx);
            }
            return;
        }
        for host in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.assign(host, u32::MAX, true, cx);
        }
    }

    fn failed(&mut self, host: HostId, kind: Kind, number: u32, cx: &mut dyn Context) {
        let Some(node) = self.nodes.get_mut(&host) else { return };
        if !node.running.remove(&(kind, number)) {
            return;
        }
        node.idle += u32::from(self.prepared.tez());
        if !self.schedule.failed(kind, number) {
            self.fail(kind, number, cx);
        }
    }

    /// A task has failed for good, and with it the job: a task that never ends says so.
    fn fail(&mut self, kind: Kind, number: u32, cx: &mut dyn Context) {
        self.stage = Stage::Failed;
        let what = match kind {
            Kind::Map => "failed-map",
            Kind::Reduce => "failed-reduce",
        };
        cx.begin_task(what, u64::from(number));
        self.tell_all(&Message::Stop, cx);
        for host in self.nodes.keys() {
            cx.cancel_timer(NODES + u64::from(host.0));
        }
    }

    fn fetch_failed(&mut self, map: u32, from: HostId, cx: &mut dyn Context) {
        // One that has run elsewhere since is no longer looked for there.
        let Some(place) = self.outputs.get_mut(map as usize).filter(|at| **at == Some(from)) else { return };
        let failures = self.fetch_failures.entry(map).or_default();
        *failures += 1;
        if *failures < FETCH_FAILURES {
            return;
        }
        *place = None;
        self.fetch_failures.remove(&map);
        self.schedule.lost_output(map);
        if !self.schedule.failed(Kind::Map, map) {
            self.fail(Kind::Map, map, cx);
        }
    }

    /// A node is gone: what ran there, and what reduces would have fetched from there, runs again.
    fn lose(&mut self, host: HostId, cx: &mut dyn Context) {
        let Some(node) = self.nodes.remove(&host) else { return };
        cx.cancel_timer(NODES + u64::from(host.0));
        self.links.remove(&node.stream);
        cx.abort(node.stream);
        for (kind, number) in node.running {
            self.schedule.again(kind, number);
        }
        self.granted.retain(|(at, ..)| *at != host);
        if !self.schedule.complete() {
            for map in 0..self.outputs.len() {
                if self.outputs[map] == Some(host) {
                    self.outputs[map] = None;
                    self.schedule.lost_output(map as u32);
                }
            }
        }
        let next = self.calls.lost(host, self.nodes.keys().next().copied());
        self.go_on(next, cx);
        self.see_whether_done(cx);
    }

    /// Tells a node which maps have finished, in messages of bounded length.
    fn answer_poll(&mut self, host: HostId, from: u32, cx: &mut dyn Context) {
        let mut at = from as usize;
        while at < self.events.len() {
            let to = self.events.len().min(at + COMPLETED_MAX);
            let events = self.events[at..to].to_vec();
            self.tell(host, &Message::Completed { from: at as u32, events }, cx);
            at = to;
        }
    }

    /// The NameNode's choice for a new block.
    fn add_block(&mut self, host: HostId, request: &Message, cx: &mut dyn Context) {
        let Message::AddBlock { work, copies, log, without } = *request else { return };
        let members = if log { &self.prepared.job.log_nodes } else { &self.prepared.job.data };
        let nodes = sample(members, usize::from(copies), without, cx.rng());
        self.tell(host, &Message::Block { work, nodes }, cx);
    }

    fn hear(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some((host, link)) = self.links.get_mut(&stream) else { return };
        let host = *host;
        match link.receive(cx) {
            Ok(messages) => messages.into_iter().for_each(|message| self.answer(host, stream, message, cx)),
            Err(_) => {
                cx.abort(stream);
                self.gone(stream, cx);
            }
        }
    }

    fn answer(&mut self, host: HostId, stream: StreamId, message: Message, cx: &mut dyn Context) {
        match message {
            Message::Register => {
                self.lose(host, cx);
                self.nodes.insert(host, Node { stream, running: BTreeSet::new(), idle: 0 });
                cx.set_timer(NODES + u64::from(host.0), self.prepared.job.costs.node_expiry);
                let next = self.calls.registered(host);
                self.go_on(next, cx);
            }
            Message::Heartbeat => self.heartbeat(host, cx),
            Message::Poll { from } => self.answer_poll(host, from, cx),
            Message::Done { kind, number } => self.done(host, kind, number, cx),
            Message::Failed { kind, number } => self.failed(host, kind, number, cx),
            Message::FetchFailed { map, from } => self.fetch_failed(map, from, cx),
            Message::AddBlock { .. } => self.add_block(host, &message, cx),
            Message::Call { work } => self.tell(host, &Message::Answer { work }, cx),
            Message::Answer { work: 0 } => {
                let next = self.calls.answered(host);
                self.go_on(next, cx);
            }
            Message::Idle => {
                if let Some(node) = self.nodes.remove(&host) {
                    cx.cancel_timer(NODES + u64::from(host.0));
                    cx.close(node.stream);
                }
                self.see_whether_done(cx);
            }
            _ => {}
        }
    }

    fn gone(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some((host, _)) = self.links.remove(&stream) else { return };
        if self.nodes.get(&host).is_some_and(|node| node.stream == stream) {
            self.lose(host, cx);
        }
        self.see_whether_done(cx);
    }

    fn see_whether_done(&mut self, cx: &mut dyn Context) {
        if self.stage == Stage::Finishing && self.nodes.is_empty() && self.links.is_empty() {
            self.stage = Stage::Done;
            if let Some(task) = self.task.take() {
                cx.end_task(task, self.prepared.job.bytes);
            }
            cx.finish();
        }
    }

    fn on_timer(&mut self, token: u64, cx: &mut dyn Context) {
        match token {
            SUBMITTED => {
                let costs = &self.prepared.job.costs;
                let (n, delay) = (costs.master_rpcs, costs.master_start);
                self.call(n, BEGIN, delay, cx);
            }
            BEGIN => {
                self.stage = Stage::Running;
                if self.prepared.job.costs.master_heartbeat > Time::ZERO {
                    cx.set_timer(HEARTBEAT, self.prepared.job.costs.master_heartbeat);
                }
            }
            HEARTBEAT => self.master_heartbeat(cx),
            COMMITTED => {
                self.stage = Stage::Finishing;
                self.tell_all(&Message::Finish, cx);
                self.see_whether_done(cx);
            }
            _ => self.lose(HostId((token - NODES) as u32), cx),
        }
    }
}

impl Process for Master {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            // A master that crashes takes the job with it: its restart begins nothing.
            Event::Start if self.task.is_some() => {}
            Event::Start => {
                self.task = Some(cx.begin_task("application", 0));
                cx.listen(self.prepared.port);
                cx.set_timer(SUBMITTED, self.prepared.job.costs.job_submit);
            }
            Event::Accepted { stream, from, .. } if self.prepared.job.compute.contains(&from.host) => {
                self.links.insert(stream, (from.host, Link::new(stream)));
            }
            Event::Accepted { stream, .. } => cx.abort(stream),
            Event::Readable { stream } => self.hear(stream, cx),
            Event::Writable { stream } => {
                if let Some((_, link)) = self.links.get_mut(&stream) {
                    link.flush(cx);
                }
            }
            Event::Closed { stream, .. } => self.gone(stream, cx),
            Event::Timer { token } => self.on_timer(token, cx),
            _ => {}
        }
    }
}
