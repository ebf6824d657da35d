//! Programs on remote memory over a network, as processes: the document's future work (004, slide 17), what congestion does to them.
//!
//! A [`Program`] computes, and at each page fault asks its memory node for the pages on a stream; what leaves its local memory and was
//! written to goes the other way. A [`Memory`] node answers. Which pages that are is said by the same local memory as in a replay
//! ([`crate::local`]), so on an idle network a fault takes what [`crate::cost`] says. Not here: what is in pages.

mod board;
mod link;
mod memory;
mod outgoing;
mod program;
mod settings;
mod source;
mod wire;

#[cfg(test)]
mod tests;

pub use board::{Board, Fault, Outcome, Totals};
pub use memory::Memory;
pub use program::Program;
pub use settings::{Costs, Schedule, Settings, WriteBack};
pub use source::{Pattern, Recorded, Shape, Source};
