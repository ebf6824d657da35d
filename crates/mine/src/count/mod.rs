//! Counting: how many of some transactions hold each candidate. A pass has its own way.
//!
//! Pass 1 counts items ([`ItemCounts`]), pass 2 pairs in an array that needs no keys ([`Triangle`]), later
//! passes intersect the transactions of items ([`vertical`]). Each takes transactions in blocks and adds to
//! counts, so that counts of several shares may be added; memory is bounded by what the caller allows.

mod items;
mod pairs;
pub mod vertical;

pub use items::ItemCounts;
pub use pairs::{Triangle, pairs_before, tiles};
