//! Quantities the whole lab counts in: [`Time`] in picoseconds, [`Rate`] in bits per second,
//! [`Bytes`] in bytes. Integers only, so that a result is the same on every machine.
//!
//! Text as people write it (`25Gbps`, `32MB`, `1us`) is parsed by [`parse`]; a bare number is refused.
//!
//! ```
//! use units::{Bytes, Rate, Time};
//!
//! let (rate, burst): (Rate, Bytes) = ("25Gbps".parse()?, "1MB".parse()?);
//! assert_eq!(rate.time_for(burst), Time::from_us(320));
//! assert!("25".parse::<Rate>().is_err(), "a number needs its unit");
//! # Ok::<(), units::ParseError>(())
//! ```

mod bytes;
pub mod parse;
mod problem;
mod rate;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;

pub use bytes::Bytes;
pub use parse::ParseError;
pub use problem::{Path, Problem, Step, in_range};
pub use rate::{Rate, Serializer};
pub use time::Time;
