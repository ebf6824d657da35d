//! Times, rates and sizes as text.

use ::units::{Bytes, Rate, Time};
use std::fmt::Display;
use std::str::FromStr;

/// Text is refused with words, or is a quantity that reads the same when it is written.
pub fn text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    reads_back::<Time>(text);
    reads_back::<Rate>(text);
    reads_back::<Bytes>(text);
}

fn reads_back<T>(text: &str)
where
    T: FromStr<Err: Display> + Display + PartialEq + std::fmt::Debug,
{
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse::<T>().ok(), Some(value)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
