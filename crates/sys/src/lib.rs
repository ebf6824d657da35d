//! Linux behind safe types: every unsafe line of the workspace, and the system calls that the standard
//! library lacks.
//!
//! One small file a subject, each with the manual page that it follows. Where a well-kept library has a
//! safe form (rustix, socket2, signal-hook) the file is a thin cover over it. No policy here: what is sent
//! when, how large a batch is and what an error means are the drivers' business.
#![allow(unsafe_code, reason = "this crate is where unsafe code lives; each block says why it is sound")]

mod bits;
pub mod bpf;
pub mod cpu;
pub mod epoll;
pub mod file;
pub mod memory;
mod prefetch;
pub mod signal;
mod sip;
pub mod sleep;
pub mod tcp;
pub mod udp;
pub mod userfaultfd;
pub mod waker;

pub use bits::count_both;
pub use prefetch::{prefetch, prefetch_at, prefetch_whole};
pub use sip::{EIGHT, sip_eight};
