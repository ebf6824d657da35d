//! The caller's own memory, used as the processor likes it: cache lines asked for early, huge pages,
//! instructions that take several words at once.
//!
//! Nothing here opens a file or a socket, reads a clock or changes what a program computes: a crate that
//! depends on this crate can reach memory only. What asks more of Linux is in `sys`.
#![allow(
    unsafe_code,
    reason = "hints and wide instructions are unsafe to ask for; each block says why it is sound"
)]

mod bits;
mod huge_pages;
mod prefetch;
mod sip;

pub use bits::count_both;
pub use huge_pages::{advise_huge_pages, prefer_huge_pages};
pub use prefetch::{prefetch, prefetch_at, prefetch_whole};
pub use sip::{EIGHT, sip_eight};
