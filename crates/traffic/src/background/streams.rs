//! Streams that are written to at a constant rate. What the stream does not take at its time is not
//! made up for later, so a stream never runs faster than its rate.

use super::{Span, Target};
use crate::job::TCP_HEADERS;
use crate::stream;
use process::{Addr, Context, Event, Payload, Process, StreamId};
use units::{Bytes, Rate, Time};

/// Least time between writes.
const TICK_MIN: Time = Time::from_ms(1);
/// A stream that broke is opened again after it.
const REOPEN: Time = Time::from_secs(1);

/// One target's stream.
#[derive(Debug)]
struct Paced {
    target: Target,
    stream: Option<StreamId>,
    /// This side of the stream is closed: time is up.
    closed: bool,
    /// Bytes that were due when it was last written to.
    due: u64,
}

impl Paced {
    fn close(&mut self, cx: &mut dyn Context) {
        if let Some(stream) = self.stream
            && !self.closed
        {
            self.closed = true;
            cx.close(stream);
        }
    }
}

/// Writes to each target at the rate, and receives what comes.
#[derive(Debug)]
pub(crate) struct Streams {
    port: u16,
    mtu: u64,
    rate: Rate,
    paced: Vec<Paced>,
    span: Span,
}

impl Streams {
    /// Streams in packets of `mtu` bytes to each target at `rate`, headers counted.
    pub fn new(port: u16, mtu: Bytes, rate: Rate, targets: Vec<Target>, span: Span) -> Streams {
        let paced =
            targets.into_iter().map(|target| Paced { target, stream: None, closed: false, due: 0 }).collect();
        Streams { port, mtu: mtu.get(), rate, paced, span }
    }

    /// Bytes of data that the rate allows in `time`.
    fn due(&self, time: Time) -> u64 {
        let packets_ps = u128::from(self.rate.as_bps()) * u128::from(time.as_ps()) / u128::from(self.mtu);
        (packets_ps * u128::from(self.mtu - TCP_HEADERS) / 8_000_000_000_000) as u64
    }

    /// Writes what is due on stream `i`, opening it if need be; closes it when time is up.
    fn turn(&mut self, i: usize, cx: &mut dyn Context) {
        let Some(elapsed) = self.span.elapsed(cx.now()) else {
            return self.paced[i].close(cx);
        };
        let Target { to, phase } = self.paced[i].target;
        if elapsed < phase {
            return cx.set_timer(i as u64, phase.saturating_sub(elapsed));
        }
        let due = self.due(elapsed.saturating_sub(phase));
        let paced = &mut self.paced[i];
        match paced.stream {
            Some(stream) if due > paced.due => {
                cx.write(stream, Payload::Zeros(due - paced.due));
            }
            Some(_) => {}
            None => {
                let stream = cx.open(Addr { host: to, port: self.port }, 0);
                cx.drain(stream);
                paced.stream = Some(stream);
            }
        }
        paced.due = due;
        cx.set_timer(i as u64, interval(Bytes::new(self.mtu), self.rate));
    }

    fn of(&self, stream: StreamId) -> Option<usize> {
        self.paced.iter().position(|paced| paced.stream == Some(stream))
    }
}

/// Time from one write to the next: a full packet's at least.
pub(crate) fn interval(mtu: Bytes, rate: Rate) -> Time {
    rate.time_for(mtu).max(TICK_MIN)
}

impl Process for Streams {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                cx.listen(self.port);
                cx.finish();
                self.span.begin(cx.now());
                self.paced.iter_mut().for_each(|paced| paced.stream = None);
                (0..self.paced.len()).for_each(|i| self.turn(i, cx));
            }
            Event::Timer { token } if (token as usize) < self.paced.len() => self.turn(token as usize, cx),
            Event::Accepted { stream, .. } => cx.drain(stream),
            Event::Readable { stream } if self.of(stream).is_none() => stream::close_at_end(stream, cx),
            Event::Readable { stream } => {
                stream::ended(stream, cx);
            }
            Event::Closed { stream, .. } => {
                if let Some(i) = self.of(stream) {
                    self.paced[i].stream = None;
                    cx.set_timer(i as u64, REOPEN);
                }
            }
            _ => {}
        }
    }
}
