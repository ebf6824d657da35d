//! Datagrams, evenly spaced; nothing slows them down.

use super::{Span, Target};
use crate::job::UDP_HEADERS;
use process::{Addr, Context, Event, Payload, Process};
use units::{Bytes, Rate, Time};

/// The largest IPv4 packet.
const PACKET_MAX: u64 = 65_535;

/// Sends to each target at the rate, and receives what comes. The driver counts datagrams.
#[derive(Debug)]
pub(crate) struct Datagrams {
    port: u16,
    payload: u64,
    interval: Time,
    targets: Vec<Target>,
    /// When each target's next datagram is due, since the beginning.
    next: Vec<Time>,
    span: Span,
}

impl Datagrams {
    /// Packets of `mtu` bytes to each target at `rate`, headers counted.
    pub fn new(port: u16, mtu: Bytes, rate: Rate, targets: Vec<Target>, span: Span) -> Datagrams {
        let packet = mtu.get().min(PACKET_MAX);
        Datagrams {
            port,
            payload: packet - UDP_HEADERS,
            interval: interval(mtu, rate),
            next: targets.iter().map(|target| target.phase).collect(),
            targets,
            span,
        }
    }

    /// Sends to target `i` if it is time, and waits for its next turn.
    fn turn(&mut self, i: usize, cx: &mut dyn Context) {
        let Some(elapsed) = self.span.elapsed(cx.now()) else { return };
        if elapsed >= self.next[i] {
            let to = Addr { host: self.targets[i].to, port: self.port };
            cx.send(self.port, to, Payload::Zeros(self.payload));
            self.next[i] += self.interval;
        }
        cx.set_timer(i as u64, self.next[i].saturating_sub(elapsed));
    }

    /// What fell due while the host was down is not made up for.
    fn skip_missed(&mut self, now: Time) {
        let Some(elapsed) = self.span.elapsed(now) else { return };
        for next in &mut self.next {
            let missed = elapsed.saturating_sub(*next).as_ps().div_ceil(self.interval.as_ps());
            *next += self.interval.saturating_mul(missed);
        }
    }
}

/// Time from one packet to the next.
pub(crate) fn interval(mtu: Bytes, rate: Rate) -> Time {
    rate.time_for(Bytes::new(mtu.get().min(PACKET_MAX)))
}

impl Process for Datagrams {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                cx.bind(self.port);
                cx.finish();
                self.span.begin(cx.now());
                self.skip_missed(cx.now());
                (0..self.targets.len()).for_each(|i| self.turn(i, cx));
            }
            Event::Timer { token } if (token as usize) < self.targets.len() => self.turn(token as usize, cx),
            _ => {}
        }
    }
}
