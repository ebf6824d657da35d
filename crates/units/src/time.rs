//! Time: a point or a span, in integer picoseconds (213 days fit).

use crate::parse::{self, ParseError, Scale};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A point in time since the start of a run, or a span of time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

const SCALE: Scale = Scale {
    what: "time",
    example: "10us",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
};

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that can happen: "never".
    pub const MAX: Time = Time(u64::MAX);
    /// No run gets further: 106 days. It is half of what a time can hold, so that no sum of two times wraps.
    pub const LONGEST_RUN: Time = Time(1 << 63);

    /// `n` picoseconds.
    pub const fn from_ps(n: u64) -> Time {
        Time(n)
    }
    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Time {
        Time(n * 1_000)
    }
    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Time {
        Time(n * 1_000_000)
    }
    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Time {
        Time(n * 1_000_000_000)
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Time {
        Time(n * 1_000_000_000_000)
    }
    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds, for people and plots only: never fed back into a decision.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
    /// `self + other`, or [`Time::MAX`].
    pub const fn saturating_add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
    /// `self * n`, or [`Time::MAX`].
    pub const fn saturating_mul(self, n: u64) -> Time {
        Time(self.0.saturating_mul(n))
    }
    /// `self * num / den` without overflow in between.
    pub const fn mul_div(self, num: u64, den: u64) -> Time {
        Time((self.0 as u128 * num as u128 / den as u128) as u64)
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl FromStr for Time {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Time, ParseError> {
        parse::quantity(text, &SCALE).map(Time)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(
            self.0,
            "0s",
            &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)],
            f,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units_and_refuses_bare_numbers() {
        assert_eq!("1us".parse(), Ok(Time::from_us(1)));
        assert_eq!("1.5 ms".parse(), Ok(Time::from_us(1_500)));
        assert_eq!("0s".parse(), Ok(Time::ZERO));
        assert!("10".parse::<Time>().is_err());
        assert!("-1s".parse::<Time>().is_err());
        assert!("1Gbps".parse::<Time>().is_err());
    }

    #[test]
    fn both_letters_for_micro_are_read() {
        assert_eq!("1\u{b5}s".parse(), Ok(Time::from_us(1)));
        assert_eq!("1\u{3bc}s".parse(), Ok(Time::from_us(1)));
    }

    #[test]
    fn what_is_too_large_says_what_is_allowed() {
        let said = |text: &str| text.parse::<Time>().unwrap_err().to_string();
        assert_eq!(said("5125h"), "\"5125h\" is too large a time: at most 5124h is allowed");
        assert_eq!("5124h".parse(), Ok(Time::from_secs(5124 * 3600)));
        let long = format!("{}   µs", "9".repeat(60));
        assert!(said(&long).starts_with("\"9999999999999999999999999999999999999999…\" is too"));
    }

    #[test]
    fn prints_the_largest_exact_unit() {
        assert_eq!(Time::from_us(1_500).to_string(), "1.5ms");
        assert_eq!(Time::from_secs(2).to_string(), "2s");
        assert_eq!(Time::ZERO.to_string(), "0s");
    }
}
