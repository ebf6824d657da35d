//! What is wrong with a scenario.

use std::fmt::Display;

/// A field that can't be as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Problem {
    /// The field, as `jobs[0].work.senders[3]`.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl Problem {
    /// A problem at `path`.
    pub fn new(path: impl Into<String>, message: impl Display) -> Problem {
        Problem { path: path.into(), message: message.to_string() }
    }
}
