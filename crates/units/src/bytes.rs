//! Sizes in bytes.

use crate::parse::{self, ParseError, Scale};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of data in bytes. `kB`, `MB`, `GB` are powers of 1000; `KiB`, `MiB`, `GiB` of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(u64);

const SCALE: Scale = Scale {
    what: "size",
    example: "32MB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        parse::quantity(text, &SCALE).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(self.0, "0B", &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)], f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_prefixes_differ() {
        assert_eq!("32MB".parse(), Ok(Bytes::new(32_000_000)));
        assert_eq!("32MiB".parse(), Ok(Bytes::new(33_554_432)));
        assert!("1500".parse::<Bytes>().is_err());
        assert!("0.3B".parse::<Bytes>().is_err());
    }
}
