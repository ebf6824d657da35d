//! Priority-based flow control, the frames and the sending side: PAUSE frames travel, and stop classes of the
//! peer's transmitter for a time.
//!
//! Source: IEEE 802.1Qbb (802.1Q clause 36) and 802.3 annex 31D. A frame names classes and gives each a time
//! in quanta of 512 bit times of the link; zero ends a pause. It is the shortest of Ethernet frames, goes
//! ahead of all data after the packet that is being sent, and is heeded when it has arrived. A pause that is
//! not renewed ends.
//!
//! Why a switch asks for a pause is in `pfc.rs`.

mod cause;
mod frames;
mod watchdog;

pub(crate) use cause::Causes;
pub use cause::{Cause, CauseTotals};

use crate::config::WatchdogConfig;
use crate::counters::PauseCounters;
use units::{Bytes, Rate, Time};

/// The class of a [packet](crate::Packet) that is a PAUSE frame; it has neither route nor body.
pub(crate) const PAUSE_FRAME: u8 = u8::MAX;
/// A quantum of pause: 512 bits.
const QUANTUM: Bytes = Bytes::new(64);

/// The length of `quanta` quanta on a link of `rate`.
pub fn pause_time(rate: Rate, quanta: u16) -> Time {
    rate.time_for(Bytes::new(QUANTUM.get() * u64::from(quanta)))
}

/// What the watchdog thinks of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    storm: bool,
    /// For how long it has looked like the other state, by polls.
    lasted: Time,
}

impl Watch {
    /// A look at the queue; whether its state changes.
    fn look(&mut self, config: &WatchdogConfig, stuck: bool, quiet: bool) -> bool {
        let (other, enough) =
            if self.storm { (quiet, config.restoration) } else { (stuck, config.detection) };
        self.lasted = if other { self.lasted + config.poll } else { Time::ZERO };
        let changes = other && self.lasted >= enough;
        if changes {
            *self = Watch { storm: !self.storm, lasted: Time::ZERO };
        }
        changes
    }
}

/// What a port knows of pauses, those that it has to keep and those that it asks for.
#[derive(Debug, Default)]
pub(crate) struct Pausing {
    /// Bit c set: class c heeds PAUSE frames.
    honours: u8,
    quanta: u16,
    /// Bit c set: class c is paused.
    paused: u8,
    until: [Time; 8],
    since: [Time; 8],
    /// Since when some class is paused, and for how long some was before.
    any: (Time, Time),
    /// Classes whose state the peer is to be told.
    due: u8,
    refresh_at: Time,
    /// Classes for which a broken host asks for pauses without end.
    storming: u8,
    /// The driver is called when a class holds fewer bytes than this.
    wake_below: [u64; 8],
    pub last_sent: [Time; 8],
    pub last_received: [Time; 8],
    pub watch: [Watch; 8],
    pub counters: [PauseCounters; 8],
    pub frames_sent: u64,
    pub frames_received: u64,
}

impl Pausing {
    pub(crate) fn new(honours: u8, quanta: u16) -> Pausing {
        Pausing { honours, quanta, ..Pausing::default() }
    }

    pub(crate) fn is_paused(&self, class: u8) -> bool {
        self.paused & (1 << class) != 0
    }

    /// Time during which some class was paused.
    pub(crate) fn paused_any(&self, now: Time) -> Time {
        let (since, before) = self.any;
        if self.paused == 0 { before } else { before + (now - since) }
    }

    fn pause(&mut self, now: Time, class: u8, until: Time) {
        if self.paused == 0 {
            self.any.0 = now;
        }
        if !self.is_paused(class) {
            self.since[usize::from(class)] = now;
        }
        self.paused |= 1 << class;
        self.until[usize::from(class)] = until;
    }

    fn resume(&mut self, now: Time, class: u8) {
        if self.is_paused(class) {
            self.counters[usize::from(class)].paused += now - self.since[usize::from(class)];
            self.paused &= !(1 << class);
            if self.paused == 0 {
                self.any.1 += now - self.any.0;
            }
        }
    }

    /// Notes that a packet of `class` leaves; whether the driver waits for that, now that `bytes` are left.
    pub(crate) fn note_sent(&mut self, now: Time, class: usize, bytes: u64) -> bool {
        self.last_sent[class] = now;
        let wake = bytes < self.wake_below[class];
        if wake {
            self.wake_below[class] = 0;
        }
        wake
    }

    /// The watchdog looks at `class`, which holds so many packets; whether a storm begins or ends.
    fn watch(&mut self, now: Time, class: u8, packets: u32, config: &WatchdogConfig) -> Option<bool> {
        let (index, before) = (usize::from(class), now.saturating_sub(config.poll));
        let paused = self.is_paused(class);
        let quiet = !paused && self.last_received[index] <= before;
        let stuck = packets > 0 && self.last_sent[index] <= before && !quiet;
        let watch = &mut self.watch[index];
        let changes = watch.look(config, stuck, quiet);
        let storm = watch.storm;
        let counters = &mut self.counters[index];
        counters.storms += u64::from(changes && storm);
        counters.restored += u64::from(changes && !storm);
        changes.then_some(storm)
    }
}

/// The classes in a mask.
pub(crate) fn classes(mask: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |class| mask & (1 << class) != 0)
}
