//! Candidates of a pass: itemsets whose subsets are all large.

mod bound;
mod generate;
mod list;
mod slices;

pub use bound::to_come;
pub use generate::{Generator, Mark, generate};
pub use list::Candidates;
pub use slices::Slices;
