//! One simulation in several parts, each with the events of its own nodes, on as many threads.
//!
//! Each part is a simulation of the whole network, of which only its own nodes do anything. A packet on a
//! link between two parts is handed over before it arrives, by the least delay of these links. So parts may
//! run for that long without hearing of each other. Then they meet (Chandy and Misra 1979). All that happens
//! is ordered by the model (`key.rs`), so the outcome is that of the whole, byte for byte.
//!
//! A part may have more to tell than packets: a flow is opened or over, a process has written, a packet of
//! another part is gone. That waits for the next meeting, since it can't matter before. Jobs start, faults
//! strike and samples are taken at meetings.

mod books;
mod crew;
mod cut;
mod driver;
mod hall;
mod join;
mod meeting;
mod part;

pub use cut::Cut;
pub use driver::Parts;
pub(crate) use part::{Half, Part, UNNUMBERED};
