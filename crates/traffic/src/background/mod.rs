//! Background traffic at a constant rate: datagrams or streams. It finishes at once, so that it
//! never holds up the end of a run, and goes on sending until its duration or the run ends.

mod datagrams;
mod streams;

pub(crate) use datagrams::{Datagrams, interval as datagram_interval};
pub(crate) use streams::{Streams, interval as stream_interval};

use process::HostId;
use units::Time;

/// Where a host sends to, and how long after the job's start the first packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub to: HostId,
    pub phase: Time,
}

/// When a process began and when it is to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    begun: Option<Time>,
    duration: Option<Time>,
}

impl Span {
    /// Ends `duration` after it has begun; without it, never.
    pub fn new(duration: Option<Time>) -> Span {
        Span { begun: None, duration }
    }

    /// Begins now, unless it has: a restart of the host does not move it.
    fn begin(&mut self, now: Time) {
        self.begun.get_or_insert(now);
    }

    /// Time since the beginning; `None` once it has ended.
    fn elapsed(&self, now: Time) -> Option<Time> {
        let elapsed = now.saturating_sub(self.begun?);
        self.duration.is_none_or(|duration| elapsed < duration).then_some(elapsed)
    }
}
