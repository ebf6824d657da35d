//! Errors of files: which file, and why.

use std::fmt::Display;
use std::io;

/// Why something can't be sent or kept. It names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It can't be sent, or must not be kept.
    #[error("{path}: {why}")]
    Refused {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// Somebody else writes the copy.
    #[error("{path}: another broadcast is writing it")]
    Busy {
        /// The target.
        path: String,
    },
    /// What is sent is not what it was.
    #[error("{path} changed while it was sent: {what}")]
    Changed {
        /// The file.
        path: String,
        /// What of it.
        what: &'static str,
    },
    /// The target is there already.
    #[error("{path} exists already; --force replaces it")]
    Exists {
        /// The target.
        path: String,
    },
    /// The target is there already, and is not what is sent.
    #[error("{path} exists already with other content; --force replaces it")]
    Differs {
        /// The target.
        path: String,
    },
    /// There is not enough space for the whole.
    #[error("{path}: no space: {needed} bytes are needed, {free} are free")]
    Full {
        /// Where.
        path: String,
        /// Bytes of the whole.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
}

impl Error {
    /// Names the file of an error of the system.
    pub(crate) fn of(path: impl Display) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { path: path.to_string(), source }
    }

    pub(crate) fn refused(path: impl Display, why: impl Into<String>) -> Error {
        Error::Refused { path: path.to_string(), why: why.into() }
    }
}
