//! How a walker moves: its rule, its random numbers, one step, and many walkers at once in memory.

mod bias;
mod engine;
mod far;
mod first;
mod geometric;
mod herd;
mod hop;
mod random;
mod record;
mod roam;
mod rule;
mod second;
mod starts;

pub use bias::{Bias, Verdict};
pub use engine::Engine;
pub use herd::{HERD, Herd, Lane};
pub use hop::{Hop, Place};
pub use random::Stream;
pub use record::{Ends, Paths, Visits};
pub use rule::{DeadEnd, Length, Rule, Walk, WalkError};
pub use starts::{StartError, Starts};
