//! A host's part in a measurement: in each round it sends to one host as much as the network takes, and
//! counts what arrives.
//!
//! The beginning of each flow is left out, while TCP still finds its rate.

use super::Sample;
use process::{Addr, Context, Event, HostId, Payload, Process, StreamId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use units::Time;

/// The job's port that probers listen on.
pub const PORT: u16 = 2;

/// A round's number is sent ahead.
const HEAD: usize = 4;
/// Offered to a stream at once, in bytes.
const OFFER: u64 = 1 << 20;
/// The timer that ends the last round; the others begin the rounds.
const LATE: Time = Time::from_ms(500);

/// A measurement.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Flows of each round.
    pub rounds: Vec<Vec<(HostId, HostId)>>,
    /// How long a round's flows last.
    pub window: Time,
    /// Of it, the part that is not counted.
    pub ramp: Time,
    /// From the end of a round to the beginning of the next.
    pub gap: Time,
    /// Where probers listen.
    pub port: u16,
}

impl Setup {
    /// The usual times: a round of half a second.
    #[must_use]
    pub fn new(rounds: Vec<Vec<(HostId, HostId)>>) -> Setup {
        let (window, ramp, gap) = (Time::from_ms(500), Time::from_ms(200), Time::from_ms(100));
        Setup { rounds, window, ramp, gap, port: PORT }
    }

    /// When a round begins, from when the first does.
    fn start(&self, round: usize) -> Time {
        self.window.saturating_add(self.gap).saturating_mul(round as u64)
    }

    /// How long all of it takes.
    #[must_use]
    pub fn length(&self) -> Time {
        self.start(self.rounds.len())
    }
}

/// What a host has measured, shared with its observers.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Vec<Sample>>>);

impl Board {
    /// All samples so far.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, sample: Sample) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
    }
}

/// A flow that comes in.
struct Incoming {
    from: HostId,
    began: Time,
    head: Vec<u8>,
    /// What came after the ramp: since when, how much, and when last.
    counted: Option<(Time, u64, Time)>,
}

/// A host that measures.
pub struct Prober {
    setup: Arc<Setup>,
    board: Board,
    /// The flow of the round at hand.
    outgoing: Option<StreamId>,
    incoming: BTreeMap<StreamId, Incoming>,
}

impl Prober {
    /// A host's part in a measurement.
    #[must_use]
    pub fn new(setup: Arc<Setup>) -> Prober {
        Prober { setup, board: Board::default(), outgoing: None, incoming: BTreeMap::new() }
    }

    /// Where it shows what it has measured.
    #[must_use]
    pub fn board(&self) -> Board {
        self.board.clone()
    }

    fn begin(&mut self, round: usize, cx: &mut dyn Context) {
        let me = cx.host();
        let to = self.setup.rounds[round].iter().find(|(from, _)| *from == me).map(|(_, to)| *to);
        if let Some(to) = to {
            let stream = cx.open(Addr { host: to, port: self.setup.port }, round as u64);
            cx.write(stream, Payload::from((round as u32).to_le_bytes().to_vec()));
            self.outgoing = Some(stream);
            self.fill(stream, cx);
        }
        cx.set_timer(Self::end_of(round), self.setup.window);
    }

    /// Timers of the ends of rounds are odd, those of beginnings even.
    fn end_of(round: usize) -> u64 {
        2 * round as u64 + 1
    }

    fn fill(&self, stream: StreamId, cx: &mut dyn Context) {
        while cx.write(stream, Payload::Zeros(OFFER)) == OFFER {}
    }

    fn on_timer(&mut self, token: u64, cx: &mut dyn Context) {
        let round = (token / 2) as usize;
        if token.is_multiple_of(2) && round < self.setup.rounds.len() {
            return self.begin(round, cx);
        }
        if token.is_multiple_of(2) {
            return cx.finish();
        }
        // What waits in queues is of no use to anybody.
        if let Some(stream) = self.outgoing.take() {
            cx.abort(stream);
        }
    }

    fn on_readable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let read = cx.read(stream, u64::MAX);
        let now = cx.now();
        let Some(flow) = self.incoming.get_mut(&stream) else { return };
        let mut came = read.len();
        for piece in &read.data {
            if let (Payload::Data(bytes), left @ 1..) = (piece, HEAD - flow.head.len()) {
                let part = left.min(bytes.len());
                flow.head.extend_from_slice(&bytes[..part]);
                came -= part as u64;
            }
        }
        match &mut flow.counted {
            Some((_, bytes, last)) => (*bytes, *last) = (*bytes + came, now),
            None if now >= flow.began.saturating_add(self.setup.ramp) => flow.counted = Some((now, 0, now)),
            None => {}
        }
        if read.end {
            self.over(stream);
            cx.close(stream);
        }
    }

    fn over(&mut self, stream: StreamId) {
        let Some(flow) = self.incoming.remove(&stream) else { return };
        let (Some((since, bytes, last)), Some(head)) = (flow.counted, flow.head.first_chunk()) else {
            return;
        };
        let (round, micros) = (u32::from_le_bytes(*head), last.saturating_sub(since).as_us());
        let known = self.setup.rounds.get(round as usize);
        let from = flow.from;
        if let Some(flow) = known.and_then(|flows| flows.iter().find(|flow| flow.0 == from))
            && micros > 0
        {
            self.board.add(Sample { round, from: from.0, to: flow.1.0, bytes, micros });
        }
    }
}

impl Process for Prober {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                cx.listen(self.setup.port);
                for round in 0..self.setup.rounds.len() {
                    cx.set_timer(2 * round as u64, self.setup.start(round));
                }
                let end = self.setup.length().saturating_add(LATE);
                cx.set_timer(2 * self.setup.rounds.len() as u64, end);
            }
            Event::Timer { token } => self.on_timer(token, cx),
            Event::Accepted { stream, from, .. } => {
                let flow = Incoming { from: from.host, began: cx.now(), head: Vec::new(), counted: None };
                self.incoming.insert(stream, flow);
            }
            Event::Readable { stream } => self.on_readable(stream, cx),
            Event::Writable { stream } if self.outgoing == Some(stream) => self.fill(stream, cx),
            Event::Closed { stream, .. } => {
                self.over(stream);
                self.outgoing = self.outgoing.filter(|mine| *mine != stream);
            }
            _ => {}
        }
    }
}
