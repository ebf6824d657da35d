//! A setting that can't be as it is: the one error of everything that checks what people have set.

use std::fmt::Display;

/// A field that can't be as it is.
///
/// ```
/// use units::Problem;
///
/// let problem = Problem::new("slots", "0: at least 1 is needed").within("jobs[0].work");
/// assert_eq!(problem.to_string(), "jobs[0].work.slots: 0: at least 1 is needed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Problem {
    /// The field, as `jobs[0].work.senders[3]`; empty: the whole of what was checked.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl Problem {
    /// A problem at `path`.
    pub fn new(path: impl Into<String>, message: impl Display) -> Problem {
        Problem { path: path.into(), message: message.to_string() }
    }

    /// The same problem, seen from further out: what was checked is at `place`.
    #[must_use]
    pub fn within(self, place: &str) -> Problem {
        let dot = if self.path.is_empty() { "" } else { "." };
        Problem { path: format!("{place}{dot}{}", self.path), message: self.message }
    }
}
