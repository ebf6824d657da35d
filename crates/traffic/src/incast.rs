//! Incast: an aggregator asks all workers at once, and asks again when the last answer is complete.
//!
//! One stream a worker a round, opened by the aggregator with the round as its group. It carries a
//! request of 8 bytes, the size of the answer (big endian), and the answer itself back.

use crate::stream::{self, Outgoing};
use process::{Addr, Context, Event, HostId, Payload, Process, StreamId};
use std::collections::BTreeMap;

/// Length of a request in bytes.
const REQUEST: u64 = 8;

/// An answer that is being received.
#[derive(Debug)]
struct Pending {
    worker: usize,
    request: Outgoing,
    received: u64,
}

/// The receiver of an incast.
#[derive(Debug)]
pub(crate) struct Aggregator {
    port: u16,
    workers: Vec<HostId>,
    /// Workers on hosts found gone are not asked any more.
    lost: Vec<bool>,
    bytes: u64,
    rounds: u32,
    round: u32,
    pending: BTreeMap<StreamId, Pending>,
}

impl Aggregator {
    /// Asks `workers` for `bytes` each, `rounds` times.
    pub fn new(port: u16, workers: Vec<HostId>, bytes: u64, rounds: u32) -> Aggregator {
        let lost = vec![false; workers.len()];
        Aggregator { port, workers, lost, bytes, rounds, round: 0, pending: BTreeMap::new() }
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
        for (worker, &host) in self.workers.iter().enumerate().filter(|(worker, _)| !self.lost[*worker]) {
            let stream = cx.open(Addr { host, port: self.port }, u64::from(self.round));
            let request = Payload::from(self.bytes.to_be_bytes().to_vec());
            let request = Outgoing::begin(request, stream, cx);
            self.pending.insert(stream, Pending { worker, request, received: 0 });
        }
    }

    /// Reads an answer; it is over at its end, or when it is longer than asked.
    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(pending) = self.pending.get_mut(&stream) else { return };
        let drained = stream::drain(stream, cx);
        pending.received += drained.bytes;
        if !drained.end && pending.received <= self.bytes {
            return;
        }
        if pending.received != self.bytes || !pending.request.is_closed() {
            cx.abort(stream);
        }
        self.settle(stream, cx);
    }

    fn settle(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.pending.remove(&stream).is_some() && self.pending.is_empty() {
            self.go_on(cx);
        }
    }

    fn lose(&mut self, host: HostId, cx: &mut dyn Context) {
        let before = self.pending.len();
        for (lost, _) in self.lost.iter_mut().zip(&self.workers).filter(|(_, worker)| **worker == host) {
            *lost = true;
        }
        self.pending.retain(|stream, pending| {
            let lost = self.lost[pending.worker];
            if lost {
                cx.abort(*stream);
            }
            !lost
        });
        if before > 0 && self.pending.is_empty() {
            self.go_on(cx);
        }
    }
}

impl Process for Aggregator {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                // After a restart the round under way is lost; the next one begins.
                self.pending.clear();
                self.lost.fill(false);
                self.go_on(cx);
            }
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(pending) = self.pending.get_mut(&stream) {
                    pending.request.resume(stream, cx);
                }
            }
            Event::Closed { stream, .. } => self.settle(stream, cx),
            Event::PeerLost { host } => self.lose(host, cx),
            _ => {}
        }
    }
}

/// A stream at a worker.
#[derive(Debug)]
enum Serving {
    /// The request has not come in full.
    Request(Vec<u8>),
    /// The answer is on its way.
    Answer(Outgoing),
}

/// A sender of an incast: answers the aggregator, and nobody else.
#[derive(Debug)]
pub(crate) struct Worker {
    port: u16,
    aggregator: HostId,
    /// A larger answer is never asked for: who does is not the aggregator.
    bytes_max: u64,
    serving: BTreeMap<StreamId, Serving>,
}

impl Worker {
    /// Answers `aggregator` with up to `bytes_max` bytes a request.
    pub fn new(port: u16, aggregator: HostId, bytes_max: u64) -> Worker {
        Worker { port, aggregator, bytes_max, serving: BTreeMap::new() }
    }

    fn refuse(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.serving.remove(&stream);
        cx.abort(stream);
    }

    /// Reads a request, or what must not follow it.
    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        loop {
            let Some(serving) = self.serving.get_mut(&stream) else { return };
            let have = if let Serving::Request(request) = serving { request.len() as u64 } else { REQUEST };
            // One byte more than is allowed shows a request that is too long.
            let read = cx.read(stream, REQUEST + 1 - have);
            let length = have + read.len();
            if length > REQUEST || (read.end && length < REQUEST) {
                return self.refuse(stream, cx);
            }
            if let Serving::Request(request) = serving {
                read.data.iter().for_each(|piece| append(request, piece));
                if length == REQUEST {
                    self.answer(stream, cx);
                }
            }
            if read.end || read.is_empty() {
                return;
            }
        }
    }

    fn answer(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(Serving::Request(request)) = self.serving.get(&stream) else { return };
        let Ok(request) = <[u8; REQUEST as usize]>::try_from(request.as_slice()) else { return };
        let bytes = u64::from_be_bytes(request);
        if bytes > self.bytes_max {
            return self.refuse(stream, cx);
        }
        let outgoing = Outgoing::begin(Payload::Zeros(bytes), stream, cx);
        self.serving.insert(stream, Serving::Answer(outgoing));
    }
}

fn append(request: &mut Vec<u8>, piece: &Payload) {
    match piece {
        Payload::Data(bytes) => request.extend_from_slice(bytes),
        Payload::Zeros(n) => request.resize(request.len() + *n as usize, 0),
    }
}

impl Process for Worker {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                self.serving.clear();
                cx.listen(self.port);
                // It only ever answers: the aggregator knows when the job is done.
                cx.finish();
            }
            Event::Accepted { stream, from, .. } if from.host == self.aggregator => {
                self.serving.insert(stream, Serving::Request(Vec::new()));
            }
            Event::Accepted { stream, .. } => cx.abort(stream),
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(Serving::Answer(outgoing)) = self.serving.get_mut(&stream) {
                    outgoing.resume(stream, cx);
                }
            }
            Event::Closed { stream, .. } => {
                self.serving.remove(&stream);
            }
            _ => {}
        }
    }
}
