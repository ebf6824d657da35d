//! What happens to a packet on entering a queue (tail drop, step marking, RED) or on leaving it (CoDel).

use crate::codel::Codel;
use crate::config::Queue;
use crate::packet::Verdict;
use crate::red::Red;
use units::Time;

/// A queue discipline with its state.
#[derive(Clone, Debug)]
pub(crate) enum Discipline {
    Tail,
    Step { bytes: u64, packets: u32 },
    Red(Box<Red>),
    Codel(Box<Codel>),
}

/// What a new discipline depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// How long a typical packet takes to send.
    pub typical: Time,
    /// The link's largest IP packet in bytes.
    pub mtu: u32,
    pub seed: u64,
}

impl Discipline {
    pub(crate) fn new(queue: Queue, place: Place) -> Discipline {
        match queue {
            Queue::TailDrop {} => Discipline::Tail,
            Queue::Step { threshold } => {
                let (bytes, packets) = threshold.limits();
                Discipline::Step { bytes, packets }
            }
            Queue::Red(config) => Discipline::Red(Box::new(Red::new(config, place.typical, place.seed))),
            Queue::Codel(config) => Discipline::Codel(Box::new(Codel::new(config, place.mtu))),
        }
    }

    /// Decides on a packet that finds `bytes` in `packets` waiting.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Time, bytes: u64, packets: u32, capable: bool) -> Verdict {
        match self {
            Discipline::Tail | Discipline::Codel(_) => Verdict::Accept,
            Discipline::Step { bytes: k, packets: n } if bytes <= *k && packets <= *n => Verdict::Accept,
            // RFC 8257, section 3.1, marks; a packet that can't be marked is dropped (RFC 3168, section 5).
            Discipline::Step { .. } if capable => Verdict::Mark,
            Discipline::Step { .. } => Verdict::Drop,
            Discipline::Red(red) => red.admit(now, bytes, packets, capable),
        }
    }

    /// Decides on a packet that leaves after a wait of `sojourn`, with `left` bytes behind it.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Time, sojourn: Time, left: u64, capable: bool) -> Verdict {
        match self {
            Discipline::Codel(codel) => codel.leave(now, sojourn, left, capable),
            _ => Verdict::Accept,
        }
    }

    /// A packet that was let in leaves at once, at `now`, and nothing stays behind. Returns whether the
    /// discipline is to be told from when on the port is [idle](Discipline::idle).
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time) -> bool {
        match self {
            Discipline::Tail | Discipline::Step { .. } => false,
            Discipline::Red(_) => true,
            // What has not waited for the target is never dropped.
            Discipline::Codel(codel) => {
                codel.leave(now, Time::ZERO, 0, false);
                false
            }
        }
    }

    /// The length in bytes above which every packet is dropped that can't be marked.
    pub(crate) fn ceiling(&self) -> u64 {
        if let Discipline::Step { bytes, .. } = self { *bytes } else { u64::MAX }
    }

    /// Nothing waits, and the last packet is sent by `from`, which may lie ahead.
    #[inline(always)]
    pub(crate) fn idle(&mut self, from: Time) {
        if let Discipline::Red(red) = self {
            red.idle(from);
        }
    }
}
