//! A server: takes walkers in, queues them (RQ), moves them on its part of the graph, and is the source of
//! the walks that begin there (RG). Document 000, *RWER 単位での非同期型*: each walker is worked on, sent and
//! received by itself.
//!
//! Walkers that come and walkers that are new wait in one queue. A walker that is served goes as far as it
//! can here; it does not queue again between local steps. A server has done its share when all walks from its
//! nodes are finished, and goes on serving the walkers of others: its driver ends it.
//!
//! What comes is in `arrive.rs`, how walkers are served in `serve.rs`, and how new ones come in
//! `generate.rs`.

mod arrive;
mod fates;
mod generate;
mod serve;

use crate::counters::{Board, Counters, Sample};
use crate::mailbox::{LOOK, Mailbox};
use crate::outbox::Outbox;
use crate::queue::Queue;
use crate::settings::{Costs, Settings};
use crate::sink::Sink;
use crate::source::Source;
use crate::step::Herd;
use crate::store::Store;
use crate::territory::{Territory, TimedChanges};
use crate::wire::packed::Packed;
use crate::wire::{Codec, Record};
use fates::Fates;
use generate::Phase;
use process::{Addr, Context, Event, Payload, Process, Train};
use serve::Worker;
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

/// Bytes that wait between two bursts, so that they stay in the cache.
const OUTBOX_BYTES: usize = 128 << 10;

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

/// A server.
pub struct Server {
    settings: Settings,
    costs: Costs,
    /// Nothing takes modelled time: the work itself takes it.
    instant: bool,
    servers: Vec<Addr>,
    codec: Codec,
    territory: Territory,
    changes: Vec<TimedChanges>,
    changed: usize,
    mailbox: Option<Arc<Mailbox>>,
    source: Source,
    queue: Queue,
    workers: Vec<Worker>,
    herd: Herd,
    fates: Fates,
    batch: Vec<Packed>,
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
            None => part.own_nodes().collect(),
        };
        let port = servers[usize::from(codec.server)].port;
        Server {
            source: Source::new(&settings, starts, codec.server, sink),
            queue: Queue::new(settings.queue, settings.limit),
            workers: (0..settings.workers).map(|_| Worker::default()).collect(),
            herd: Herd::default(),
            fates: Fates::default(),
            batch: Vec::new(),
            outbox: Outbox::new(
                settings.datagrams,
                settings.derived.datagram_bytes,
                codec.clone(),
                port,
                servers.clone(),
            ),
            settings,
            costs,
            instant: costs == Costs::default(),
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
        self.queue = Queue::new(self.settings.queue, self.settings.limit);
        self.workers.iter_mut().for_each(|worker| *worker = Worker::default());
        self.outbox.clear();
        self.owed = Time::ZERO;
        (self.phase, self.lingering, self.finished) = (Phase::Resting(Time::MAX), false, false);
        let (journal, lives) = (self.store.load(), self.store.lives());
        let begun = self.source.live(journal.as_deref(), lives, &self.settings);
        let counters = &self.board.counters;
        counters.refused_snapshots.add(u64::from(begun.is_err()));
        counters.restored.set(self.source.ledger.finished());
        counters.required.set(self.source.ledger.required());
        counters.finished.set(self.source.ledger.finished());
        counters.given_up.set(0);
        counters.finished_ps.set(0);
        cx.bind(self.servers[usize::from(self.codec.server)].port);
        for (token, every) in [(SAMPLE, self.settings.derived.sample), (SNAPSHOT, self.settings.snapshot)] {
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

    fn on_timer(&mut self, token: u64, cx: &mut dyn Context) {
        match token {
            WAKE if self.phase == Phase::Sleeping => self.work(cx),
            WAKE => {
                self.phase = Phase::Resting(Time::MAX);
                self.turn(cx);
            }
            SAMPLE => {
                self.sample(cx.now());
                cx.set_timer(SAMPLE, self.settings.derived.sample.expect("the timer is set only with it"));
            }
            FLUSH => {
                self.lingering = false;
                self.flush(true, cx);
            }
            SNAPSHOT if !self.finished => {
                self.save();
                cx.set_timer(SNAPSHOT, self.settings.snapshot.expect("the timer is set only with it"));
            }
            CHANGE => self.change(cx),
            _ => {}
        }
    }

    /// Has what is finished kept.
    fn save(&mut self) {
        if !self.store.save(&|| self.source.snapshot()) {
            self.counters().refused_snapshots.add(1);
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
            if self.source.has_next() {
                self.turn(cx);
            } else if !complete && self.source.watch.due().is_some_and(|next| next < due) {
                self.rest(cx);
            }
        }
        for index in 0..self.workers.len() {
            if !self.workers[index].busy && self.queue.len() > 0 {
                self.begin(index, cx);
            }
        }
        self.send(cx);
        if !self.finished && self.source.ledger.is_complete() {
            self.finished = true;
            self.counters().finished_ps.set(cx.now().as_ps());
            self.save();
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
        let idle = self.workers.iter().all(|worker| !worker.busy);
        if self.instant && !idle && linger == Time::ZERO && self.outbox.bytes() < OUTBOX_BYTES {
            // The next burst follows at once.
            return;
        }
        let all = linger == Time::ZERO || idle;
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
            Event::Datagram { from, data: Payload::Data(data), .. } => {
                self.on_datagram(from, &data, cx.now(), cx);
            }
            Event::Datagram { .. } => self.counters().refused_datagrams.add(1),
            Event::Timer { token } => self.on_timer(token, cx),
            Event::Computed { token: GENERATE } => self.on_generated(cx),
            Event::Computed { token } => self.on_served((token - SERVE) as usize, cx),
            _ => return,
        }
        self.follow_up(cx);
    }

    fn handle_train(&mut self, train: &Train<'_>, cx: &mut dyn Context) {
        self.on_train(train, cx);
        self.follow_up(cx);
    }
}
