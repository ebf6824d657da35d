//! How a walker moves: its rule, its random numbers, one step, and many walkers at once in memory.

mod bias;
mod geometric;
mod hop;
mod random;
mod rule;

pub use bias::{Bias, Verdict};
pub use hop::{Hop, Place};
pub use random::Stream;
pub use rule::{DeadEnd, Length, Rule, Walk, WalkError};
