//! A guest's processor: what it computes takes time, if it has a speed.
//!
//! A guest computes without a pause until it waits, and its clock stands still meanwhile. What it then asks
//! for comes later by as much as it has computed: packets leave, it is interrupted, and it goes on. So its
//! clock is right whenever it goes on, and one program is not interrupted for another.

use crate::meter::Meter;
use std::collections::VecDeque;
use std::io;

/// A processor with a speed.
#[derive(Debug)]
pub struct Processor {
    meter: Meter,
    /// As a multiple of this machine's.
    rate: f64,
    /// Until when it computes what it was seen to compute, by the guest's clock.
    pub busy_until: u64,
    /// Chains of the transmit queue before an index may leave from a time on.
    finished: VecDeque<(u16, u64)>,
}

impl Processor {
    pub(crate) fn new(meter: Meter, rate: f64) -> Processor {
        Processor { meter, rate, busy_until: 0, finished: VecDeque::new() }
    }

    /// What was computed so far takes no time.
    ///
    /// # Errors
    /// What the kernel says of its counter.
    pub fn forget(&mut self) -> io::Result<()> {
        self.meter.take().map(drop)
    }

    /// Charges what was computed since the last call, at `now`, with a processor `speed` times as fast as it
    /// usually is. The chains before index `offered` are a part of what is finished then.
    ///
    /// # Errors
    /// What the kernel says of its counter.
    pub fn charge(&mut self, now: u64, speed: f64, offered: u16) -> io::Result<()> {
        let time = self.meter.take()? as f64 / (self.rate * speed);
        self.busy_until = self.busy_until.max(now).saturating_add(time as u64);
        if self.finished.back().is_none_or(|(before, _)| *before != offered) {
            self.finished.push_back((offered, self.busy_until));
        }
        Ok(())
    }

    /// From when on the chain at index `next` may leave.
    pub fn finished(&mut self, next: u16) -> u64 {
        while self.finished.pop_front_if(|(before, _)| *before == next).is_some() {}
        self.finished.front().map_or(0, |(_, at)| *at)
    }
}
