//! The wall clock, counted from the start of the run.
//!
//! All members of a run are told the same start as calendar time; how well their clocks agree is the
//! machines' business (NTP, PTP). From there on each counts by its monotonic clock.
#![expect(clippy::disallowed_methods, reason = "this is the clock that the live driver reads")]

use std::time::{Duration, Instant, SystemTime};
use units::Time;

/// Time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that is zero at `start`, which may lie in the past or in the future.
    pub fn starting_at(start: SystemTime) -> Clock {
        let (now, calendar) = (Instant::now(), SystemTime::now());
        let start = match start.duration_since(calendar) {
            Ok(ahead) => now + ahead,
            Err(behind) => now.checked_sub(behind.duration()).unwrap_or(now),
        };
        Clock { start }
    }

    /// Time since the start; zero before it.
    pub fn now(&self) -> Time {
        to_time(Instant::now().saturating_duration_since(self.start))
    }

    /// How long it is until `at`; `None` when that has come.
    pub fn until(&self, at: Time) -> Option<Duration> {
        let at = self.start.checked_add(to_duration(at))?;
        at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// How long poll(2) and the like are to wait for `at`; `None` when that has come. They take up to a
    /// thousandth longer than asked for (`select_estimate_accuracy` in Linux's fs/select.c), so a short wait
    /// follows a long one.
    pub fn wait_for(&self, at: Time) -> Option<Duration> {
        self.until(at).map(|left| left - left / 1001)
    }
}

/// Nanoseconds since 1970: tells a life of a member from those before it.
pub(crate) fn calendar_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// A span as the clock counts it, rounded up: nothing comes early.
fn to_duration(time: Time) -> Duration {
    Duration::from_nanos(time.as_ps().div_ceil(1_000))
}

/// A span as the model counts it.
pub(crate) fn to_time(duration: Duration) -> Time {
    Time::from_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 1_000))
}

/// How long the shortest pause of this machine takes, asked for as one nanosecond: the median of some. A
/// process that is to pause as a program does that sleeps sets a timer for this long; a timer of a driver
/// with other things to do would come sooner.
pub fn shortest_sleep() -> Time {
    let mut pauses = [Duration::ZERO; 21];
    for pause in &mut pauses {
        let begun = Instant::now();
        sys::sleep::sleep_ns(1);
        *pause = begun.elapsed();
    }
    pauses.sort_unstable();
    to_time(pauses[pauses.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_start_it_is_zero_and_nothing_is_due() {
        let clock = Clock::starting_at(SystemTime::now() + Duration::from_secs(60));
        assert_eq!(clock.now(), Time::ZERO);
        assert!(clock.until(Time::ZERO).is_some_and(|left| left > Duration::from_secs(59)));
    }

    #[test]
    fn a_wait_with_its_slack_ends_in_time() {
        let clock = Clock::starting_at(SystemTime::now() + Duration::from_secs(60));
        let wait = clock.wait_for(Time::ZERO).unwrap();
        assert!(wait + wait / 1000 <= Duration::from_secs(60) && wait > Duration::from_secs(59), "{wait:?}");
    }

    #[test]
    fn who_joins_late_counts_from_the_same_start() {
        let clock = Clock::starting_at(SystemTime::now() - Duration::from_millis(100));
        assert!(clock.now() >= Time::from_ms(100));
        assert_eq!(clock.until(Time::from_ms(100)), None);
        assert!(clock.until(Time::from_secs(60)).is_some());
    }

    #[test]
    fn a_pause_takes_time() {
        let pause = shortest_sleep();
        assert!(pause > Time::from_ns(1) && pause < Time::from_secs(1), "{pause}");
    }

    #[test]
    fn never_is_far_away() {
        let clock = Clock::starting_at(SystemTime::now());
        assert!(clock.until(Time::MAX).is_some_and(|left| left > Duration::from_secs(1 << 20)));
    }
}
