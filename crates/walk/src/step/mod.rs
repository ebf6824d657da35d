//! How a walker moves.

mod random;

pub use random::Stream;
