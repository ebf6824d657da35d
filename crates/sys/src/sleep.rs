//! A pause of the calling thread. Page: nanosleep(2).
//!
//! A pause takes longer than asked for by the thread's timer slack (prctl(2), `PR_SET_TIMERSLACK`: 50 µs
//! unless set) and by what the scheduler needs.

use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::Timespec;

/// Sleeps for `ns` nanoseconds, or until a signal comes.
pub fn sleep_ns(ns: u64) {
    let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
    match nanosleep(&time) {
        NanosleepRelativeResult::Ok | NanosleepRelativeResult::Interrupted(_) => {}
        NanosleepRelativeResult::Err(error) => unreachable!("the time is well formed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "what is tested is time")]
    fn a_pause_takes_at_least_what_was_asked_for() {
        for ns in [1, 1_500_000] {
            let begun = std::time::Instant::now();
            sleep_ns(ns);
            assert!(begun.elapsed() >= Duration::from_nanos(ns));
        }
    }
}
