//! Data rates, and the time bytes take at a rate.

use crate::parse::{self, ParseError, Scale};
use crate::{Bytes, Problem, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

const SCALE: Scale = Scale {
    what: "rate",
    example: "25Gbps",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Bps", 8),
        ("kBps", 8_000),
        ("MBps", 8_000_000),
        ("GBps", 8_000_000_000),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
    ],
};

impl Rate {
    /// `n` bits per second.
    pub const fn from_bps(n: u64) -> Rate {
        Rate(n)
    }
    /// `n` gigabits per second.
    pub const fn from_gbps(n: u64) -> Rate {
        Rate(n * 1_000_000_000)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// How long `bytes` take at this rate, rounded up to a picosecond.
    ///
    /// # Panics
    /// When the rate is zero.
    pub fn time_for(self, bytes: Bytes) -> Time {
        let ps = (u128::from(bytes.get()) * 8 * 1_000_000_000_000).div_ceil(u128::from(self.0));
        Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// Refuses bytes to or from `host` that are not through before the longest run is over. A rate of zero is
    /// refused elsewhere.
    ///
    /// # Errors
    /// They take longer.
    pub fn carries_in_a_run(self, bytes: f64, host: impl fmt::Display) -> Result<(), Problem> {
        if self.0 == 0 || bytes * 8.0 <= self.0 as f64 * Time::LONGEST_RUN.as_secs_f64() {
            return Ok(());
        }
        let message = format!(
            "{bytes:.0} bytes at {host} take longer than the longest run (106 days) at {self}: send less"
        );
        Err(Problem::whole(message))
    }
    /// The same as [`Rate::time_for`] made ready for many small sizes: one multiplication each.
    pub fn serializer(self) -> Serializer {
        let fixed = (8_000_000_000_000u128 << Serializer::FRACTION).div_ceil(u128::from(self.0));
        Serializer(u64::try_from(fixed).expect("rate of at least 1 kb/s"))
    }
}

/// Serialisation time a byte of a rate, as fixed-point picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serializer(u64);

impl Serializer {
    const FRACTION: u32 = 20;

    /// Exactly `time` for each unit of `bytes`, up to 10,000 of them, whatever comes out for less.
    ///
    /// # Panics
    /// When `bytes` is zero.
    pub fn of_units(bytes: u32, time: Time) -> Serializer {
        let fixed = (u128::from(time.as_ps()) << Serializer::FRACTION).div_ceil(u128::from(bytes));
        Serializer(u64::try_from(fixed).expect("a unit takes less than hours"))
    }

    /// How long `bytes` take; within a picosecond of [`Rate::time_for`] for a packet.
    #[inline]
    pub fn time_for(self, bytes: u32) -> Time {
        Time::from_ps(((u128::from(self.0) * u128::from(bytes)) >> Self::FRACTION) as u64)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        parse::quantity(text, &SCALE).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(
            self.0,
            "0bps",
            &[("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)],
            f,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_is_exact_at_ethernet_rates() {
        for (gbps, ps_a_byte) in [(1, 8_000), (10, 800), (25, 320), (40, 200), (100, 80), (400, 20)] {
            let rate = Rate::from_gbps(gbps);
            assert_eq!(rate.time_for(Bytes::new(1538)).as_ps(), 1538 * ps_a_byte);
            assert_eq!(rate.serializer().time_for(1538).as_ps(), 1538 * ps_a_byte);
        }
    }

    #[test]
    fn an_atm_cell_takes_2831_ns_at_oc3_payload_rate() {
        // 53 bytes at 149.76 Mb/s.
        let cell = Rate::from_bps(149_760_000).time_for(Bytes::new(53));
        assert_eq!(cell.as_ps(), 2_831_197);
        // Whole cells take whole cell times.
        let cells = Serializer::of_units(53, cell);
        assert!((1..10_000).all(|n| cells.time_for(53 * n).as_ps() == u64::from(n) * cell.as_ps()));
    }

    #[test]
    fn bits_and_bytes_a_second_are_told_apart() {
        assert_eq!("10Gbps".parse(), Ok(Rate::from_gbps(10)));
        assert_eq!("500MB/s".parse(), Ok(Rate::from_gbps(4)));
        assert!("25G".parse::<Rate>().is_err());
    }
}
