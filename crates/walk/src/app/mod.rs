//! What people get from walks: pure functions from finished walks to results. It does not matter where they
//! were walked them, or in which order they are handed over.

pub mod communities;
pub mod corpus;
pub mod node2vec;
pub mod ppr;
pub mod recommend;
pub mod simrank;
mod tally;

pub use tally::{Tally, top};
