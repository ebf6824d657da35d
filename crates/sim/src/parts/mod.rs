//! One simulation in several parts, each with the events of its own nodes, on as many threads.
//!
//! Each part is a whole simulation of which only its own nodes do anything. A packet on a link between two
//! parts is handed over so long before it arrives as the least of these links takes. So parts may run for that
//! long without hearing of each other; then they meet (Chandy and Misra 1979). All that several parts do is
//! ordered by the model (`key.rs`), so the outcome is, byte for byte, that of the whole.
//!
//! What one part has to tell another beyond packets waits for the next meeting: a flow is opened or over, a
//! process has written, a packet of the other's is gone. Nothing of it can matter before. Jobs start, faults
//! strike and samples are taken at meetings.

mod books;
mod cut;
mod gate;
mod join;
mod meeting;
mod part;

pub use books::Parts;
pub(crate) use books::{Books, Guards};
pub use cut::Cut;
pub(crate) use part::{Half, Part, UNNUMBERED};
