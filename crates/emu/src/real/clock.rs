//! The run's time by this machine's clock.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use sys::cpu::monotonic_ns;
use units::Time;

/// A run's time, which goes on with this machine's clock, perhaps slower.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Seconds here for each second of the run.
    scale: f64,
    /// When the run began, by the clock that only goes on.
    begun: u64,
    /// The same by the time of day, in nanoseconds since 1970.
    time_of_day: u64,
}

impl Clock {
    /// A run begins now.
    pub fn begin(scale: f64) -> Clock {
        let day = clock_gettime(ClockId::Realtime);
        let time_of_day = day.tv_sec as u64 * 1_000_000_000 + day.tv_nsec as u64;
        Clock { scale, begun: monotonic_ns(), time_of_day }
    }

    /// The run's time.
    pub fn now(&self) -> Time {
        let ns = (monotonic_ns() - self.begun) as f64 / self.scale;
        Time::from_ps((ns * 1000.0) as u64)
    }

    /// How long a time of the run takes here.
    pub fn here(&self, time: Time) -> Duration {
        here(self.scale, time)
    }

    /// How much of the run's time passes meanwhile.
    pub fn there(&self, time: Duration) -> Time {
        Time::from_ps((time.as_nanos() as f64 * 1000.0 / self.scale) as u64)
    }

    /// The time of day at a time of the run, in nanoseconds since 1970.
    pub fn time_of_day(&self, time: Time) -> u64 {
        self.time_of_day + self.here(time).as_nanos() as u64
    }
}

/// How long a time of a run takes here, whose seconds take `scale` seconds each.
pub fn here(scale: f64, time: Time) -> Duration {
    Duration::from_nanos((time.as_ps() as f64 * scale / 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_run_takes_longer_here() {
        let clock = Clock::begin(4.0);
        assert_eq!(clock.here(Time::from_ms(3)), Duration::from_millis(12));
        assert_eq!(clock.there(Duration::from_millis(12)), Time::from_ms(3));
        let begun = clock.time_of_day(Time::ZERO);
        assert_eq!(clock.time_of_day(Time::from_ms(3)) - begun, 12_000_000);
        let first = clock.now();
        sys::sleep::sleep_ns(4_000_000);
        assert!(clock.now() - first >= Time::from_ms(1));
    }
}
