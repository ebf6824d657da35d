//! What a broadcast sends and keeps on disk: a file or a folder as one run of bytes, cut into chunks.
//!
//! [`Layout`] says which files there are, in which order, and refuses what a stranger could use to write elsewhere.
//! [`Source`] reads chunks of what is sent and notices when it changes. [`Part`] is an unfinished copy: it takes its
//! space before anything comes, keeps a journal of the chunks that are there, goes on after an interruption, and gets
//! its final name when it is whole. Not here: the network, who sends which chunk, and whether a chunk is what it should
//! be before it is written.

mod choice;
mod earlier;
mod error;
mod finish;
mod journal;
mod keeping;
mod layout;
mod part;
mod place;
mod places;
mod run;
mod scan;
mod source;
mod store;

pub use choice::Choice;
pub use earlier::Earlier;
pub use error::Error;
pub use finish::Finish;
pub use keeping::Keeping;
pub use layout::{About, Entry, Kind, Layout};
pub use part::Part;
pub use place::Place;
pub use scan::scan;
pub use source::Source;
pub use store::{Named, Outcome};

/// BLAKE3 of a chunk's bytes.
pub type Hash = [u8; 32];
