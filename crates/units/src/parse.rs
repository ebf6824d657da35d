//! Text to integer quantities, exactly: decimal digits, a point, a unit; no floats on the way.

use std::fmt;

/// What a quantity may be written in.
pub(crate) struct Scale {
    pub what: &'static str,
    pub example: &'static str,
    /// Unit and how many base units it is.
    pub units: &'static [(&'static str, u64)],
}

/// Longer numbers are cut in messages.
const LONGEST: usize = 40;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A number without a unit.
    #[error("{text:?} has no unit: a {what} is written like {example}")]
    NoUnit {
        /// The text.
        text: String,
        /// The quantity's name.
        what: &'static str,
        /// How it is written.
        example: &'static str,
    },
    /// A unit of another quantity, or of none.
    #[error("{unit:?} is not a unit of {what}: allowed are {allowed}")]
    UnknownUnit {
        /// The unit that was read.
        unit: String,
        /// The quantity's name.
        what: &'static str,
        /// All units.
        allowed: String,
    },
    /// Not a non-negative decimal number.
    #[error("{text:?} is not a {what}: expected a number that is not negative and a unit, like {example}")]
    NotANumber {
        /// The text.
        text: String,
        /// The quantity's name.
        what: &'static str,
        /// How it is written.
        example: &'static str,
    },
    /// A fraction of the smallest unit.
    #[error("{text:?} is not a whole number of the smallest unit of {what}")]
    TooFine {
        /// The text.
        text: String,
        /// The quantity's name.
        what: &'static str,
    },
    /// More than 64 bits hold.
    #[error("{} is too large a {what}: at most {most} is allowed", shortened(.text))]
    TooLarge {
        /// The text.
        text: String,
        /// The quantity's name.
        what: &'static str,
        /// What 64 bits hold of it, in its largest unit.
        most: String,
    },
}

/// Reads `text` in the units of `scale`; returns base units.
pub(crate) fn quantity(text: &str, scale: &Scale) -> Result<u64, ParseError> {
    let (what, example) = (scale.what, scale.example);
    let text = text.trim();
    let not_a_number = || ParseError::NotANumber { text: text.into(), what, example };
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    // The Greek letter looks like the micro sign.
    let (number, unit) = (&text[..end], &text[end..].trim_start().replace('\u{3bc}', "\u{b5}"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(not_a_number());
    }
    if unit.is_empty() {
        return Err(ParseError::NoUnit { text: text.into(), what, example });
    }
    let Some(&(_, factor)) = scale.units.iter().find(|(name, _)| name == unit) else {
        let allowed = scale.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(ParseError::UnknownUnit { unit: unit.into(), what, allowed });
    };
    let too_large = || ParseError::TooLarge { text: text.into(), what, most: most(scale) };
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let mantissa = if digits.is_empty() { 0 } else { digits.parse::<u128>().map_err(|_| too_large())? };
    let scaled = mantissa.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
    let divisor = 10u128.checked_pow(fraction.len() as u32).ok_or_else(too_large)?;
    if scaled % divisor != 0 {
        return Err(ParseError::TooFine { text: text.into(), what });
    }
    u64::try_from(scaled / divisor).map_err(|_| too_large())
}

/// What 64 bits hold, in whole largest units.
fn most(scale: &Scale) -> String {
    let &(name, factor) = scale.units.iter().max_by_key(|(_, factor)| *factor).expect("there are units");
    format!("{}{name}", u64::MAX / factor)
}

/// The text in quotes, cut where it gets too long to be read.
fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        format!("{text:?}")
    } else {
        format!("\"{}…\"", text.chars().take(LONGEST).collect::<String>())
    }
}

/// Prints `value` in the largest unit that it reaches, exactly.
pub(crate) fn display(
    value: u64,
    zero: &str,
    units: &[(&str, u64)],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if value == 0 {
        return f.write_str(zero);
    }
    let &(name, factor) = units.iter().find(|(_, factor)| value >= *factor).expect("the last unit is 1");
    let (whole, rest) = (value / factor, value % factor);
    if rest == 0 {
        return write!(f, "{whole}{name}");
    }
    let width = factor.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    write!(f, "{whole}.{}{name}", fraction.trim_end_matches('0'))
}
