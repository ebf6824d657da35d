//! Incast: an aggregator asks all workers at once, and asks again when the last answer is complete.
//!
//! One stream a worker a round, opened by the aggregator with the round as its group. Opening it is
//! the request: the aggregator writes nothing and closes its side, the worker answers, so all bytes
//! flow from worker to aggregator. The aggregator alone keeps count of rounds; a worker that is
//! restarted has nothing to remember.

use crate::stream::{self, Outgoing};
use process::{Addr, Context, Event, HostId, Payload, Process, StreamId};
use std::collections::{BTreeMap, BTreeSet};

/// The receiver of an incast.
#[derive(Debug)]
pub(crate) struct Aggregator {
    port: u16,
    /// Workers still asked: one whose host is found gone is left out of later rounds.
    workers: BTreeSet<HostId>,
    rounds: u32,
    round: u32,
    /// Answers that have not ended, and whose they are.
    pending: BTreeMap<StreamId, HostId>,
}

impl Aggregator {
    /// Asks `workers` for an answer each, `rounds` times.
    pub fn new(port: u16, workers: &[HostId], rounds: u32) -> Aggregator {
        let workers = workers.iter().copied().collect();
        Aggregator { port, workers, rounds, round: 0, pending: BTreeMap::new() }
    }

    /// Begins the next round, if there is one and anybody to ask; else the job is done.
    fn go_on(&mut self, cx: &mut dyn Context) {
        if self.round < self.rounds {
            self.ask(cx);
            self.round += 1;
        }
        if self.pending.is_empty() {
            cx.finish();
        }
    }

    fn ask(&mut self, cx: &mut dyn Context) {
        for &worker in &self.workers {
            let stream = cx.open(Addr { host: worker, port: self.port }, u64::from(self.round));
            cx.drain(stream);
            cx.close(stream);
            self.pending.insert(stream, worker);
        }
    }

    /// An answer is complete at the end of its stream.
    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.pending.contains_key(&stream) && stream::ended(stream, cx) {
            self.settle(stream, cx);
        }
    }

    fn settle(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.pending.remove(&stream).is_some() && self.pending.is_empty() {
            self.go_on(cx);
        }
    }

    fn lose(&mut self, host: HostId, cx: &mut dyn Context) {
        self.workers.remove(&host);
        let lost = |(stream, worker): (&StreamId, &HostId)| (*worker == host).then_some(*stream);
        let streams: Vec<StreamId> = self.pending.iter().filter_map(lost).collect();
        for stream in streams {
            cx.abort(stream);
            self.settle(stream, cx);
        }
    }
}

impl Process for Aggregator {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                // After a restart the round under way is lost; the next one begins.
                self.pending.clear();
                self.go_on(cx);
            }
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Closed { stream, .. } => self.settle(stream, cx),
            Event::PeerLost { host } => self.lose(host, cx),
            _ => {}
        }
    }
}

/// A sender of an incast: answers the aggregator, and nobody else.
#[derive(Debug)]
pub(crate) struct Worker {
    port: u16,
    aggregator: HostId,
    bytes: u64,
    answers: BTreeMap<StreamId, Outgoing>,
}

impl Worker {
    /// Answers `aggregator` with `bytes` a stream.
    pub fn new(port: u16, aggregator: HostId, bytes: u64) -> Worker {
        Worker { port, aggregator, bytes, answers: BTreeMap::new() }
    }

    fn answer(&mut self, stream: StreamId, from: Addr, cx: &mut dyn Context) {
        if from.host != self.aggregator {
            return cx.abort(stream);
        }
        cx.drain(stream);
        let outgoing = Outgoing::begin(Payload::Zeros(self.bytes), stream, cx);
        self.answers.insert(stream, outgoing);
    }
}

impl Process for Worker {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                self.answers.clear();
                cx.listen(self.port);
                // It only ever answers: the aggregator knows when the job is done.
                cx.finish();
            }
            Event::Accepted { stream, from, .. } => self.answer(stream, from, cx),
            Event::Readable { stream } => {
                stream::ended(stream, cx);
            }
            Event::Writable { stream } => {
                if let Some(outgoing) = self.answers.get_mut(&stream) {
                    outgoing.resume(stream, cx);
                }
            }
            Event::Closed { stream, .. } => {
                self.answers.remove(&stream);
            }
            _ => {}
        }
    }
}
