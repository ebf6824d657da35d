//! Programs on remote memory over a network, as processes: the effect of congestion on them, which is future
//! work in document 004 (slide 17).
//!
//! The threads of a [`Program`] compute, and at each page fault request pages from its memory node on a
//! stream; dirty pages that leave its local memory go the other way. A [`Memory`] node answers. The same
//! local memory as in a replay chooses the pages ([`crate::local`]), so on an idle network a fault takes what
//! [`crate::cost`] says. Not here: page contents.

mod accesses;
mod board;
mod link;
mod memory;
mod outgoing;
mod program;
mod settings;
mod wire;

#[cfg(test)]
mod tests;

pub use accesses::{Order, Pattern, Recorded, Shape, ThreadAccesses};
pub use board::{Board, Fault, Outcome, Totals};
pub use memory::Memory;
pub use program::Program;
pub use settings::{Costs, Schedule, Settings, WriteBack};
