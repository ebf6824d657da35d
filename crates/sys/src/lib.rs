//! Linux behind safe types: every unsafe line of the workspace and every system call that the standard
//! library lacks.
//!
//! One small file a subject, each with the manual page that it follows. No policy here: what is sent
//! when, how large a batch is, what an error means are the drivers' business.
#![allow(unsafe_code, reason = "this crate is where unsafe code lives; each block says why it is sound")]

mod prefetch;

pub use prefetch::{prefetch, prefetch_at};
