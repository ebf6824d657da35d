//! The caller's own memory, used as the processor likes it: cache lines asked for early, huge pages,
//! instructions that take several words at once.
//!
//! Nothing here opens a file or a socket, reads a clock or changes what a program computes: a crate that
//! depends on this crate can reach memory only. What asks more of Linux is in `sys`.
//!
//! Each item has a bitmap with a bit per basket. The example counts the baskets that hold both items of a
//! pair, and prefetches the next pair's bitmap meanwhile:
//!
//! ```
//! use mem::{count_both, prefetch_whole};
//!
//! let bitmaps = [[0b1110_u64; 8], [0b0111; 8], [0b0001; 8]];
//! let pairs = [(0, 1), (0, 2), (1, 2)];
//! let mut both = Vec::new();
//! for (at, (one, other)) in pairs.into_iter().enumerate() {
//!     if let Some((_, next)) = pairs.get(at + 1) {
//!         prefetch_whole(&bitmaps[*next]);
//!     }
//!     both.push(count_both(&bitmaps[one], &bitmaps[other]));
//! }
//! assert_eq!(both, [16, 0, 8]);
//! ```
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
