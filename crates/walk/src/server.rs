//! A server: takes walkers in, queues them (RQ), moves them on its part of the graph, and is the source of the walks
//! that begin there (RG). Document 000, *RWER 単位での非同期型*: each walker is worked on, sent and received by itself.
//!
//! Walkers that come and walkers that are new wait in one queue. A walker that is served goes as far as it can here;
//! it does not queue again between local steps. A server has done its share when all walks from its nodes are
//! finished, and goes on serving the walkers of others: whoever drives it ends it.

use crate::counters::{Board, Counters, Sample};
use crate::mailbox::{LOOK, Mailbox};
use crate::outbox::Outbox;
use crate::queue::{Cause, Queue};
use crate::settings::{Costs, Settings};
use crate::sink::Sink;
use crate::source::{Source, Told};
use crate::store::Store;
use crate::territory::{Territory, TimedChanges};
use crate::wire::{Codec, Ended, Record, Refused, Walker};
use process::{Addr, Context, Event, Payload, Process};
use std::sync::Arc;
use units::Time;

/// Timers.
const WAKE: u64 = 1;
const SAMPLE: u64 = 2;
const FLUSH: u64 = 3;
const SNAPSHOT: u64 = 4;
const CHANGE: u64 = 5;
/// Computations: generating, and from here on the workers.
const GENERATE: u64 = 0;
const SERVE: u64 = 1;

/// What a server is made of.
pub struct ServerSetup {
    /// How walks are run.
    pub settings: Settings,
    /// How long things take on this host.
    pub costs: Costs,
    /// All servers, in order; this one too.
    pub servers: Vec<Addr>,
    /// The job's number and key, and this server's number.
    pub codec: Codec,
    /// What it walks on.
    pub territory: Territory,
    /// Its start nodes; nothing: all of its nodes.
    pub starts: Option<Vec<u32>>,
    /// Arcs that come and go, by time.
    pub changes: Vec<TimedChanges>,
    /// Where more of them come from while it runs; nothing: from nowhere.
    pub mailbox: Option<Arc<Mailbox>>,
    /// Where its finished walks go.
    pub sink: Box<dyn Sink>,
    /// Where its snapshots are kept.
    pub store: Box<dyn Store>,
    /// Where it shows how it does.
    pub board: Arc<Board>,
}

/// What generation is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is nothing to generate; the timer is set to then, if walkers are on their way.
    Resting(Time),
    Sleeping,
    Working,
}

/// One of those that serve.
#[derive(Debug, Default)]
struct Worker {
    busy: bool,
    /// Under way until the computation is over.
    leaving: Vec<(u16, Record)>,
    walkers: u64,
    time: Time,
}

/// A server.
pub struct Server {
    settings: Settings,
    costs: Costs,
    servers: Vec<Addr>,
    codec: Codec,
    territory: Territory,
    changes: Vec<TimedChanges>,
    changed: usize,
    mailbox: Option<Arc<Mailbox>>,
    source: Source,
    queue: Queue,
    workers: Vec<Worker>,
    outbox: Outbox,
    store: Box<dyn Store>,
    board: Arc<Board>,
    records: Vec<Record>,
    /// Time that dropped walkers and datagrams have taken, and nobody has waited for yet.
    owed: Time,
    phase: Phase,
    lingering: bool,
    started: bool,
    finished: bool,
}

impl Server {
    /// A server that is ready to start.
    pub fn new(setup: ServerSetup) -> Server {
        let ServerSetup { settings, costs, servers, codec, territory, starts, .. } = setup;
        let ServerSetup { changes, mailbox, sink, store, board, .. } = setup;
        let part = &territory.part;
        let starts = match starts {
            Some(starts) => starts.into_iter().filter(|start| part.owns(*start)).collect(),
            None => part.own().collect(),
        };
        let port = servers[usize::from(codec.server)].port;
        Server {
            source: Source::new(&settings, starts, codec.server, sink),
            queue: Queue::new(settings.queue),
            workers: (0..settings.workers).map(|_| Worker::default()).collect(),
            outbox: Outbox::new(settings.datagrams, codec.clone(), port, servers.clone()),
            settings,
            costs,
            servers,
            codec,
            territory,
            changes,
            changed: 0,
            mailbox,
            store,
            board,
            records: Vec::new(),
            owed: Time::ZERO,
            phase: Phase::Resting(Time::MAX),
            lingering: false,
            started: false,
            finished: false,
        }
    }

    fn counters(&self) -> &Counters {
        &self.board.counters
    }

    /// Begins, or begins again after a crash: what was in memory is gone, the last snapshot is not.
    fn start(&mut self, cx: &mut dyn Context) {
        if std::mem::replace(&mut self.started, true) {
            self.counters().restarts.add(1);
        }
        self.queue = Queue::new(self.settings.queue);
        self.workers.iter_mut().for_each(|worker| *worker = Worker::default());
        self.outbox.clear();
        self.owed = Time::ZERO;
        (self.phase, self.lingering, self.finished) = (Phase::Resting(Time::MAX), false, false);
        let snapshot = self.store.load();
        if self.source.begin(snapshot.as_deref(), &self.settings).is_err() {
            self.counters().refused_snapshots.add(1);
        }
        let counters = &self.board.counters;
        counters.required.set(self.source.ledger.required());
        counters.finished.set(self.source.ledger.finished());
        counters.finished_ps.set(0);
        cx.bind(self.servers[usize::from(self.codec.server)].port);
        for (token, every) in [(SAMPLE, self.settings.sample), (SNAPSHOT, self.settings.snapshot)] {
            if let Some(every) = every {
                cx.set_timer(token, every);
            }
        }
        self.change(cx);
    }

    /// Applies the arcs that have come or gone by now.
    fn change(&mut self, cx: &mut dyn Context) {
        let now = cx.now();
        for timed in self.mailbox.iter().flat_map(|mailbox| mailbox.take()) {
            // Behind those of the same time, and never before what has been applied.
            let place = self.changes[self.changed..].partition_point(|other| other.at <= timed.at);
            self.changes.insert(self.changed + place, timed);
        }
        while let Some(timed) = self.changes.get(self.changed).filter(|timed| timed.at <= now) {
            if self.territory.change(timed).is_err() {
                self.board.counters.refused_changes.add(1);
            }
            self.changed += 1;
        }
        let due = self.changes.get(self.changed).map(|timed| timed.at.saturating_sub(now));
        let look = self.mailbox.is_some().then_some(LOOK);
        if let Some(wait) = due.into_iter().chain(look).min() {
            cx.set_timer(CHANGE, wait);
        }
    }

    fn on_datagram(&mut self, from: Addr, data: &Payload, cx: &mut dyn Context) {
        let mut records = std::mem::take(&mut self.records);
        let read = match data {
            Payload::Data(bytes) => self.codec.decode(bytes, &mut records),
            Payload::Zeros(_) => Err(Refused::Foreign),
        };
        match read {
            Ok(sender) if self.servers.get(usize::from(sender)) == Some(&from) => {
                self.counters().received_datagrams.add(1);
                self.owed += self.costs.datagram;
                for record in records.drain(..) {
                    self.on_record(record, cx);
                }
            }
            Ok(_) | Err(Refused::Tag) => self.counters().refused_strangers.add(1),
            Err(_) => self.counters().refused_datagrams.add(1),
        }
        records.clear();
        self.records = records;
    }

    fn on_record(&mut self, record: Record, cx: &mut dyn Context) {
        let now = cx.now();
        match record {
            Record::Walker(walker) if self.is_sound(&walker) => {
                self.counters().arrived.add(1);
                self.enqueue(walker, cx);
            }
            Record::Walker(_) => self.counters().refused_records.add(1),
            Record::Ended(ended)
                if ended.end < self.territory.part.nodes() && ended.steps <= self.settings.steps_max =>
            {
                self.source.ended(now, &ended, &self.board.counters);
            }
            Record::Ended(_) => self.counters().refused_records.add(1),
            Record::Dropped(id) => self.source.dropped(&id, Told::ByAnother, &self.board.counters),
        }
    }

    /// Whether a walker can be served here, as far as this server can know.
    fn is_sound(&self, walker: &Walker) -> bool {
        let nodes = self.territory.part.nodes();
        let known = [Some(walker.id.start), walker.previous, walker.candidate].into_iter().flatten();
        usize::from(walker.source) < self.servers.len()
            && walker.steps <= self.settings.steps_max
            && walker.path.is_empty() != self.settings.paths
            && known.chain(walker.path.iter().copied()).all(|node| node < nodes)
            && self.territory.takes(walker)
    }

    fn enqueue(&mut self, walker: Walker, cx: &mut dyn Context) {
        if let Err((cause, walker)) = self.queue.push(cx.now(), walker, cx.rng()) {
            self.discard(cause, &walker);
        }
    }

    /// A walker is dropped: its source is told at once if it is here, and elsewhere if that is asked for.
    fn discard(&mut self, cause: Cause, walker: &Walker) {
        let counters = &self.board.counters;
        match cause {
            Cause::Early => counters.drops_early.add(1),
            Cause::Forced => counters.drops_forced.add(1),
            Cause::Full => counters.drops_full.add(1),
            Cause::Wait => counters.drops_wait.add(1),
        }
        self.owed += self.costs.drop;
        let is_own = walker.source == self.codec.server;
        counters.drops_own.add(u64::from(is_own));
        if is_own && self.settings.loss.direct {
            self.source.dropped(&walker.id, Told::Here, counters);
        } else if !is_own && self.settings.loss.remote {
            self.outbox.push(walker.source, Record::Dropped(walker.id));
        }
    }

    /// Serves as many walkers as a worker takes at a time.
    fn serve(&mut self, index: usize, cx: &mut dyn Context) {
        let now = cx.now();
        let mut worker = std::mem::take(&mut self.workers[index]);
        (worker.walkers, worker.time) = (0, Time::ZERO);
        let mut dropped = Vec::new();
        while worker.walkers < u64::from(self.settings.burst) {
            let Some(walker) = self.queue.pop(now, |walker| dropped.push(walker)) else { break };
            let before = walker.steps;
            let (to, record) = self.walk(walker);
            let steps = match &record {
                Record::Walker(walker) => walker.steps - before,
                Record::Ended(ended) => ended.steps - before,
                Record::Dropped(_) => 0,
            };
            self.counters().steps.add(steps.into());
            worker.walkers += 1;
            worker.time = worker.time + self.costs.walker + self.costs.step.saturating_mul(steps.into());
            worker.leaving.push((to, record));
        }
        dropped.iter().for_each(|walker| self.discard(Cause::Wait, walker));
        worker.busy = worker.walkers > 0;
        if worker.busy {
            worker.time += std::mem::take(&mut self.owed);
            cx.compute(SERVE + index as u64, worker.time);
        }
        self.workers[index] = worker;
    }

    /// Moves a walker: where it leaves for, and what leaves.
    fn walk(&self, mut walker: Walker) -> (u16, Record) {
        match self.territory.walk(&mut walker, self.settings.steps_max, self.settings.paths) {
            Some(server) => (server, Record::Walker(walker)),
            None => {
                let Walker { id, source, at: end, steps, path, .. } = walker;
                (source, Record::Ended(Ended { id, end, steps, path }))
            }
        }
    }

    /// A worker has had its time: what it has worked on leaves.
    fn on_served(&mut self, index: usize, cx: &mut dyn Context) {
        let Some(worker) = self.workers.get_mut(index).filter(|worker| worker.busy) else { return };
        worker.busy = false;
        let mut leaving = std::mem::take(&mut worker.leaving);
        let (walkers, time) = (worker.walkers, worker.time);
        self.counters().served.add(walkers);
        self.queue.served(Time::from_ps(time.as_ps() / walkers.max(1)));
        for (to, record) in leaving.drain(..) {
            match record {
                Record::Ended(ended) if to == self.codec.server => {
                    self.source.ended(cx.now(), &ended, &self.board.counters);
                }
                record => drop(self.outbox.push(to, record)),
            }
        }
        // The buffer is used again.
        self.workers[index].leaving = leaving;
    }

    /// The source's turn: looks for losses, then sleeps, or generates, or rests.
    fn turn(&mut self, cx: &mut dyn Context) {
        let now = cx.now();
        let loss = self.source.check(now, &self.board.counters);
        if !self.source.ledger.has_next() {
            return self.rest(cx);
        }
        self.counters().loss_checks.add(u64::from(loss));
        match self.source.generator.check(loss) {
            Some(sleep) => {
                self.counters().sleeps.add(1);
                self.phase = Phase::Sleeping;
                cx.set_timer(WAKE, sleep);
            }
            None => self.work(cx),
        }
    }

    /// Nothing is to be generated until a walker turns out to be lost.
    fn rest(&mut self, cx: &mut dyn Context) {
        let due = self.source.watch.due().filter(|_| !self.source.ledger.is_complete());
        let before = std::mem::replace(&mut self.phase, Phase::Resting(due.unwrap_or(Time::MAX)));
        if let Some(due) = due.filter(|due| before != Phase::Resting(*due)) {
            cx.set_timer(WAKE, due.saturating_sub(cx.now()));
        }
    }

    fn work(&mut self, cx: &mut dyn Context) {
        self.phase = Phase::Working;
        cx.compute(GENERATE, self.costs.generate.saturating_mul(self.source.generator.batch().into()));
    }

    fn on_generated(&mut self, cx: &mut dyn Context) {
        for _ in 0..self.source.generator.batch() {
            let Some(walker) = self.source.generate(cx.now(), &self.territory, &self.board.counters) else {
                break;
            };
            self.enqueue(walker, cx);
        }
        self.turn(cx);
    }

    fn on_timer(&mut self, token: u64, cx: &mut dyn Context) {
        match token {
            WAKE if self.phase == Phase::Sleeping => self.work(cx),
            WAKE => {
                self.phase = Phase::Resting(Time::MAX);
                self.turn(cx);
            }
            SAMPLE => {
                self.sample(cx.now());
                cx.set_timer(SAMPLE, self.settings.sample.expect("the timer is set only with it"));
            }
            FLUSH => {
                self.lingering = false;
                self.flush(true, cx);
            }
            SNAPSHOT if !self.finished => {
                self.store.save(self.source.snapshot());
                cx.set_timer(SNAPSHOT, self.settings.snapshot.expect("the timer is set only with it"));
            }
            CHANGE => self.change(cx),
            _ => {}
        }
    }

    fn sample(&mut self, time: Time) {
        self.board.note(Sample {
            time,
            queue: self.queue.len() as u64,
            queue_max: self.queue.take_longest() as u64,
            timeout: self.source.watch.timeout(),
            totals: self.board.counters.totals(),
        });
    }

    /// What an event leaves to be done.
    fn follow_up(&mut self, cx: &mut dyn Context) {
        if let Phase::Resting(due) = self.phase {
            let complete = self.source.ledger.is_complete();
            if self.source.ledger.has_next() {
                self.turn(cx);
            } else if !complete && self.source.watch.due().is_some_and(|next| next < due) {
                self.rest(cx);
            }
        }
        for index in 0..self.workers.len() {
            if !self.workers[index].busy && self.queue.len() > 0 {
                self.serve(index, cx);
            }
        }
        self.send(cx);
        if !self.finished && self.source.ledger.is_complete() {
            self.finished = true;
            self.counters().finished_ps.set(cx.now().as_ps());
            self.store.save(self.source.snapshot());
            cx.finish();
        }
    }

    fn flush(&mut self, all: bool, cx: &mut dyn Context) {
        let sent = &self.board.counters.sent_datagrams;
        let before = sent.get();
        self.outbox.flush(all, &self.board.counters, cx);
        self.owed += self.costs.datagram.saturating_mul(sent.get() - before);
    }

    /// Sends what waits: full datagrams, and all when nobody is to wait for others.
    fn send(&mut self, cx: &mut dyn Context) {
        if self.outbox.is_empty() {
            return;
        }
        let linger = self.settings.datagrams.linger;
        let all = linger == Time::ZERO || self.workers.iter().all(|worker| !worker.busy);
        self.flush(all, cx);
        if !self.outbox.is_empty() && !std::mem::replace(&mut self.lingering, true) {
            cx.set_timer(FLUSH, linger);
        }
    }
}

impl Process for Server {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => self.start(cx),
            Event::Datagram { from, data, .. } => self.on_datagram(from, &data, cx),
            Event::Timer { token } => self.on_timer(token, cx),
            Event::Computed { token: GENERATE } => self.on_generated(cx),
            Event::Computed { token } => self.on_served((token - SERVE) as usize, cx),
            _ => return,
        }
        self.follow_up(cx);
    }
}
