//! A node of the miner as a Process: its streams, and how it begins.
//!
//! Of two nodes the one with the lower number opens their stream, and opens it again when it breaks; the
//! other one does so when nothing has come for a while, because the first may believe that it is done.
//!
//! A node that has found everything ends its side of a stream once the other node has all that it needs.
//! Until then it leaves its side open. So a stream whose two sides have ended is not opened again, and a node
//! has finished when all of its streams have ended.

use super::board::Board;
use super::costs::{Costs, PPM};
use super::journal::Journal;
use super::link::{Body, Link};
use super::peer::Peer;
use super::run::Run;
use super::settings::Settings;
use super::stage::{Stage, Stages};
use super::wire::{Message, Part};
use crate::begun::Full;
use crate::items::Level;
use crate::work::{Modelled, Real, Work};
use process::{Addr, Context, Event, HostId, Process, StreamId, TaskId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use units::{Problem, Time};

/// Timers and computations: generation, counting of what came, the wait for others; dialling, by peer.
pub(super) const STEP: u64 = 0;
pub(super) const PROBE: u64 = 1;
const GATHER: u64 = 2;
const DIAL: u64 = 3;

/// A broken stream is opened again after so long.
const REDIAL: Time = Time::from_ms(200);
/// A node that waits to be called calls itself after so long.
const PATIENCE: Time = Time::from_secs(10);

/// A stage is generated when all nodes are there, or so long after one was lost.
const GATHERING: Time = Time::from_secs(5);

/// A node's part of a run.
pub struct NodeSetup {
    /// The run's.
    pub settings: Arc<Settings>,
    /// What things take on a modelled host.
    pub costs: Costs,
    /// Where each node is.
    pub nodes: Vec<Addr>,
    /// Which of them this is.
    pub me: usize,
    /// Where finished passes are kept.
    pub journal: Box<dyn Journal>,
    /// Where it shows itself.
    pub board: Board,
}

/// A node.
pub struct Node {
    pub(super) settings: Arc<Settings>,
    pub(super) costs: Costs,
    nodes: Vec<Addr>,
    pub(super) me: usize,
    pub(super) work: Box<dyn Work>,
    pub(super) journal: Box<dyn Journal>,
    pub(super) board: Board,
    numbers: BTreeMap<HostId, usize>,
    pub(super) streams: BTreeMap<StreamId, usize>,
    pub(super) peers: Vec<Peer>,
    /// Where it is; behind the last pass when all is over.
    pub(super) stage: Stage,
    pub(super) stages: Stages,
    pub(super) levels: Arc<Vec<Level>>,
    pub(super) over: bool,
    /// Large itemsets exceed the memory: it does nothing any more.
    full: bool,
    pub(super) run: Option<Run>,
    /// Parts that wait to be counted, one after the other.
    pub(super) inbox: VecDeque<(usize, Part, Body)>,
    pub(super) probing: bool,
    pub(super) pace_ppm: u64,
    pub(super) tasks: Tasks,
    /// Others may be about to come.
    pub(super) patient: bool,
    begun: bool,
}

/// What is on the job's timeline.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub pass: Option<TaskId>,
    pub broadcast: Option<TaskId>,
    /// Bytes sent and received in this pass.
    pub bytes: u64,
}

impl Node {
    /// A node with real transactions.
    ///
    /// # Errors
    /// The first setting that can't be as it is.
    pub fn real(setup: NodeSetup, work: Real) -> Result<Node, Problem> {
        Node::new(setup, Box::new(work))
    }

    /// A node of which only the amounts are known.
    ///
    /// # Errors
    /// The first setting that can't be as it is.
    pub fn modelled(setup: NodeSetup, work: Modelled) -> Result<Node, Problem> {
        Node::new(setup, Box::new(work))
    }

    fn new(setup: NodeSetup, work: Box<dyn Work>) -> Result<Node, Problem> {
        let NodeSetup { settings, costs, nodes, me, journal, board } = setup;
        settings.check()?;
        if nodes.len() != settings.nodes() || me >= nodes.len() {
            let message = format!("{} addresses for {} nodes", nodes.len(), settings.nodes());
            return Err(Problem::new("nodes", message));
        }
        Ok(Node {
            numbers: nodes.iter().enumerate().map(|(number, addr)| (addr.host, number)).collect(),
            settings,
            costs,
            nodes,
            me,
            work,
            journal,
            board,
            streams: BTreeMap::new(),
            peers: Vec::new(),
            stage: Stage::first(1),
            stages: Stages { slices: 1, asks: false },
            levels: Arc::default(),
            over: false,
            full: false,
            run: None,
            inbox: VecDeque::new(),
            probing: false,
            pace_ppm: PPM,
            tasks: Tasks::default(),
            patient: true,
            begun: false,
        })
    }

    /// The run begins, or the host has come back.
    fn start(&mut self, cx: &mut dyn Context) {
        if std::mem::replace(&mut self.begun, true) {
            self.board.change(|progress| progress.restarts += 1);
        }
        self.streams.clear();
        self.peers = self.nodes.iter().map(|_| Peer::default()).collect();
        self.inbox.clear();
        (self.run, self.probing, self.over, self.tasks) = (None, false, false, Tasks::default());
        self.work.reset();
        let sound = self.journal.load(self.settings.derived.found_most());
        if let Some(full) = sound.full() {
            return self.end_full(full);
        }
        self.levels = Arc::new(sound.levels);
        cx.listen(self.nodes[self.me].port);
        self.wait_for_others(cx);
        self.begin_pass(cx);
        for peer in self.settings.destinations(self.me) {
            if peer > self.me {
                self.dial(peer, cx);
            } else if self.over {
                // A node that needs something calls.
                self.peers[peer].settled = true;
            } else {
                cx.set_timer(DIAL + peer as u64, PATIENCE);
            }
        }
    }

    /// Ends when large itemsets exceed the memory.
    fn check_memory(&mut self) {
        let held: usize = self.levels.iter().map(Level::bytes).sum();
        if held.saturating_add(self.work.found_bytes()) > self.settings.derived.found_most() {
            let before = self.levels.iter().map(|level| level.len() as u64).sum();
            self.end_full(Full { length: self.stage.pass as usize, before });
        }
    }

    /// The launcher sees why, and ends the run.
    fn end_full(&mut self, full: Full) {
        self.full = true;
        self.board.change(|progress| progress.full = Some(full));
    }

    fn wait_for_others(&mut self, cx: &mut dyn Context) {
        self.patient = true;
        cx.set_timer(GATHER, GATHERING);
    }

    /// Doesn't open a stream to a peer, for the time being.
    pub(super) fn stay(&self, peer: usize, cx: &mut dyn Context) {
        cx.cancel_timer(DIAL + peer as u64);
    }

    fn dial(&mut self, peer: usize, cx: &mut dyn Context) {
        let stream = cx.open(self.nodes[peer], u64::from(self.stage.pass));
        self.meet(peer, stream, cx);
    }

    /// A stream with a peer, in place of any other.
    fn meet(&mut self, peer: usize, stream: StreamId, cx: &mut dyn Context) {
        if let Some(old) = self.peers[peer].cut() {
            self.streams.remove(&old.stream);
            cx.abort(old.stream);
        }
        self.stay(peer, cx);
        self.streams.insert(stream, peer);
        (self.peers[peer].link, self.peers[peer].settled) = (Some(Link::new(stream)), false);
        self.say(peer, &Message::Hello { job: self.settings.derived.job, node: self.me as u32 }, cx);
        self.say_position(peer, cx);
    }

    /// Sends a message without a body.
    pub(super) fn say(&mut self, peer: usize, message: &Message, cx: &mut dyn Context) {
        if let Some(link) = &mut self.peers[peer].link {
            let sent = link.send(message, [], cx);
            self.count_sent(sent);
        }
    }

    /// A stream is gone.
    fn lose(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(peer) = self.streams.remove(&stream) else { return };
        let ended = self.peers[peer].cut().is_some_and(|link| link.ended());
        if self.over && ended {
            self.peers[peer].settled = true;
        } else {
            let after = if peer > self.me { REDIAL } else { PATIENCE };
            cx.set_timer(DIAL + peer as u64, after);
            self.wait_for_others(cx);
        }
    }

    /// What came on a stream is no message, or none that can be.
    pub(super) fn refuse(&mut self, peer: usize, cx: &mut dyn Context) {
        self.board.change(|progress| progress.refused += 1);
        if let Some(link) = &self.peers[peer].link {
            let stream = link.stream;
            cx.abort(stream);
            self.lose(stream, cx);
        }
    }
}

impl Process for Node {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if self.full {
            return;
        }
        match event {
            Event::Start => self.start(cx),
            Event::Accepted { stream, from, .. } => match self.numbers.get(&from.host) {
                Some(peer) if *peer != self.me => self.meet(*peer, stream, cx),
                _ => cx.abort(stream),
            },
            Event::Readable { stream } => {
                if let Some(peer) = self.streams.get(&stream) {
                    self.read(*peer, cx);
                }
            }
            Event::Writable { stream } => {
                if let Some(peer) = self.streams.get(&stream)
                    && let Some(link) = &mut self.peers[*peer].link
                {
                    link.flush(cx);
                }
            }
            Event::Closed { stream, .. } => self.lose(stream, cx),
            Event::PeerLost { host } => {
                if let Some(peer) = self.numbers.get(&host)
                    && let Some(link) = &self.peers[*peer].link
                {
                    let stream = link.stream;
                    cx.abort(stream);
                    self.lose(stream, cx);
                }
            }
            Event::Timer { token: STEP } | Event::Computed { token: STEP } => self.stepped(cx),
            Event::DiskDone { token: STEP } => self.has_read(cx),
            Event::Computed { token: PROBE } => self.probed(cx),
            Event::Timer { token: GATHER } => self.patient = false,
            Event::Timer { token } if token >= DIAL => {
                let peer = (token - DIAL) as usize;
                if self.peers[peer].link.is_none() {
                    self.dial(peer, cx);
                }
            }
            _ => {}
        }
        self.check_memory();
        if !self.full {
            self.go_on(cx);
        }
    }
}

/// Time for an effort of this node.
impl Node {
    pub(super) fn time(&self, effort: &crate::work::Effort) -> Time {
        self.costs.time(effort, self.pace_ppm)
    }
}
