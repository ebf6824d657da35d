//! The sending side of a host: opens each demanded flow at its time, and sees it through.

use crate::Flow;
use crate::demand::PackedDemands;
use crate::flows::Cursor;
use crate::stream::{self, Outgoing};
use process::{Addr, Context, Event, HostId, StreamId};
use units::Time;

/// The only timer: the next flow is due.
const NEXT_FLOW: u64 = 0;

/// A flow under way.
#[derive(Debug)]
struct Open {
    stream: StreamId,
    to: HostId,
    outgoing: Outgoing,
}

/// Sends the flows demanded of it, in their order. A flow that fails is not repeated: the driver's record
/// says why.
#[derive(Debug)]
pub(crate) struct Sender {
    port: u16,
    demands: PackedDemands,
    /// How much of them has been read: all up to `next`.
    read: Cursor,
    next: Option<Flow<u32>>,
    /// Flows that may be open at a time.
    parallel: usize,
    /// In the order of their opening, which is that of their numbers.
    open: Vec<Open>,
    /// When the job began: a restart of the host does not move it.
    begun: Option<Time>,
    timer_set: bool,
    finished: bool,
}

impl Sender {
    /// A sender of the flows `demands` to `port`, with at most `parallel` open at a time.
    pub fn new(mut demands: PackedDemands, parallel: usize, port: u16) -> Sender {
        demands.0.shrink_to_fit();
        let mut read = Cursor::default();
        Sender {
            port,
            next: read.next(&demands.0),
            demands,
            read,
            parallel,
            open: Vec::new(),
            begun: None,
            timer_set: false,
            finished: false,
        }
    }

    /// Whether this sender opened `stream`.
    pub fn owns(&self, stream: StreamId) -> bool {
        self.find(stream).is_ok()
    }

    fn find(&self, stream: StreamId) -> Result<usize, usize> {
        self.open.binary_search_by_key(&stream, |open| open.stream)
    }

    /// Handles an event that is the job's start or concerns what this sender asked for.
    pub fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => self.start(cx),
            Event::Timer { token: NEXT_FLOW } => self.timer_set = false,
            Event::Writable { stream } => {
                if let Ok(index) = self.find(stream) {
                    self.open[index].outgoing.resume(stream, cx);
                }
                return;
            }
            Event::Readable { stream } if self.owns(stream) => {
                stream::ended(stream, cx);
                return;
            }
            Event::Closed { stream, .. } => {
                if let Ok(index) = self.find(stream) {
                    self.open.remove(index);
                }
            }
            Event::PeerLost { host } => self.give_up(host, cx),
            _ => return,
        }
        self.go_on(cx);
    }

    /// After a restart the flows that were open are lost, and those that fell due meanwhile begin.
    fn start(&mut self, cx: &mut dyn Context) {
        self.begun.get_or_insert(cx.now());
        self.open.clear();
        self.timer_set = false;
        self.finished = false;
    }

    fn give_up(&mut self, host: HostId, cx: &mut dyn Context) {
        self.open.retain(|open| {
            if open.to == host {
                cx.abort(open.stream);
            }
            open.to != host
        });
    }

    /// Opens what is due, sets the timer for what is not, and finishes after the last flow.
    fn go_on(&mut self, cx: &mut dyn Context) {
        let Some(begun) = self.begun else { return };
        while self.open.len() < self.parallel
            && let Some(flow) = self.next
        {
            let due = begun.saturating_add(flow.at);
            let wait = due.saturating_sub(cx.now());
            if wait > Time::ZERO {
                if !self.timer_set {
                    self.timer_set = true;
                    cx.set_timer(NEXT_FLOW, wait);
                }
                return;
            }
            self.next = self.read.next(&self.demands.0);
            self.send(flow, cx);
        }
        if self.next.is_none() && self.open.is_empty() && !self.finished {
            self.finished = true;
            cx.finish();
        }
    }

    fn send(&mut self, flow: Flow<u32>, cx: &mut dyn Context) {
        let to = HostId(flow.to);
        let stream = cx.open(Addr { host: to, port: self.port }, flow.group);
        // A receiver has nothing to say but the end: what it says is dropped.
        cx.drain(stream);
        let outgoing = Outgoing::begin(process::Payload::Zeros(flow.bytes), stream, cx);
        // Most hosts have one flow at a time.
        if self.open.capacity() == 0 {
            self.open.reserve_exact(1);
        }
        let at = self.find(stream).unwrap_or_else(|at| at);
        self.open.insert(at, Open { stream, to, outgoing });
    }
}
