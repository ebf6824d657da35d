//! Samples of open streams at a fixed interval: the window that the kernel has (tcp(7), `TCP_INFO`).

use super::World;
use crate::clock::to_time;
use crate::hello;
use crate::report::FlowSample;
use crate::stream::{Stage, Stream};
use std::time::Duration;
use units::Time;

/// Samples that are kept. When there are more, every second moment is dropped, and from then on moments are
/// twice as far apart: a long run has fewer of them, and no part of it lacks them.
const KEPT: usize = 1 << 17;

/// The samples of a member.
pub(crate) struct Sampler {
    /// Time between two samples in picoseconds; 0: none.
    interval: u64,
    /// When the next ones are due, in intervals.
    next: u64,
    kept: Vec<FlowSample>,
}

impl Sampler {
    pub fn new(interval_ns: u64) -> Sampler {
        Sampler { interval: Time::from_ns(interval_ns).as_ps(), next: 0, kept: Vec::new() }
    }

    /// When the next samples are due.
    pub fn next(&self) -> Option<Time> {
        (self.interval > 0).then(|| Time::from_ps(self.next.saturating_mul(self.interval)))
    }

    pub fn is_due(&self, now: Time) -> bool {
        self.next().is_some_and(|next| next <= now)
    }

    /// Samples the streams of which this side has sent more than the other, its opener if neither has.
    pub fn sample<'a>(&mut self, world: &World<'_>, streams: impl Iterator<Item = &'a Stream>) {
        self.next = world.now.as_ps() / self.interval + 1;
        let sends = |stream: &&Stream| {
            let Stream { owner, sent, received, .. } = stream;
            stream.stage == Stage::Open && (sent > received || sent == received && owner.opener)
        };
        self.kept.extend(streams.filter(sends).filter_map(|stream| sample(stream, world)));
        self.thin_out(KEPT);
    }

    /// Drops every second moment, as long as more than so many samples are kept.
    fn thin_out(&mut self, most: usize) {
        while self.kept.len() > most {
            self.interval *= 2;
            let Sampler { interval, next, kept } = self;
            // A moment is late by less than the interval.
            kept.retain(|sample| sample.time_ps % *interval < *interval / 2);
            *next = next.div_ceil(2);
        }
    }

    /// What was sampled.
    pub fn take(&mut self) -> Vec<FlowSample> {
        std::mem::take(&mut self.kept)
    }
}

fn sample(stream: &Stream, world: &World<'_>) -> Option<FlowSample> {
    let info = sys::tcp::info(&stream.socket).ok()?;
    let opener = if stream.owner.opener { world.host } else { stream.owner.peer };
    // The SYN counts as a byte, and the opener greets first.
    let not_content = 1 + if stream.owner.opener { hello::LENGTH as u64 } else { 0 };
    Some(FlowSample {
        time_ps: world.now.as_ps(),
        opener: opener.0,
        number: stream.owner.number,
        cwnd_bytes: info.cwnd_bytes,
        in_flight_bytes: info.in_flight_bytes,
        srtt_ps: Some(to_time(info.srtt).as_ps()).filter(|_| info.srtt > Duration::ZERO),
        acked_bytes: info.acked_bytes.saturating_sub(not_content).min(stream.sent),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time_ps: u64) -> FlowSample {
        FlowSample {
            time_ps,
            opener: 0,
            number: 1,
            cwnd_bytes: 1,
            in_flight_bytes: 0,
            srtt_ps: None,
            acked_bytes: 0,
        }
    }

    #[test]
    fn without_an_interval_nothing_is_due() {
        assert_eq!(Sampler::new(0).next(), None);
        assert!(Sampler::new(1).is_due(Time::ZERO));
    }

    #[test]
    fn a_long_run_keeps_moments_of_all_its_parts() {
        let mut sampler = Sampler::new(1);
        // Each is late by a little.
        sampler.kept = (0..9).map(|moment| at(moment * 1_000 + 7)).collect();
        sampler.next = 9;
        sampler.thin_out(4);
        let kept: Vec<u64> = sampler.take().iter().map(|sample| sample.time_ps).collect();
        assert_eq!(kept, [7, 4_007, 8_007]);
        assert_eq!(sampler.next(), Some(Time::from_ns(12)));
    }
}
