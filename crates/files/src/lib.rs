//! What a broadcast sends and stores on disk: a file or a folder as one sequence of bytes, cut into chunks.
//!
//! [`Layout`] lists the files and their order, and refuses names by which an attacker could write elsewhere.
//! [`Content`] reads chunks of the sent content and notices when it changes. [`Part`] is an unfinished copy:
//! it reserves its space before anything arrives, keeps a journal of its chunks, continues after an
//! interruption, and gets its final name when it is complete. Not here: the network, the choice of a chunk's
//! sender, and the check of a chunk before it is written.
//!
//! A file is copied chunk by chunk, the last chunk first:
//!
//! ```
//! use files::{Choice, Content, Part};
//! use std::fs;
//!
//! const CHUNK: u64 = 1000;
//! let folder = tempfile::tempdir()?;
//! let (from, to) = (folder.path().join("weights"), folder.path().join("copy"));
//! let content: Vec<u8> = (0..2500).map(|at| (at / 10) as u8).collect();
//! fs::write(&from, &content)?;
//! let mut source = Content::open(&*from, Choice::default(), CHUNK)?;
//! let mut part = Part::begin(&*to, source.layout().clone(), CHUNK, false)?;
//! for chunk in (0..source.chunks()).rev() {
//!     let (bytes, hash) = source.read(chunk)?;
//!     part.write(chunk, &[&bytes], &hash)?;
//! }
//! assert!(!to.exists(), "an unfinished copy has another name");
//! part.finish()?.run()?;
//! assert_eq!(fs::read(&to)?, content);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choice;
mod content;
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
mod store;

pub use choice::Choice;
pub use content::Content;
pub use earlier::Earlier;
pub use error::Error;
pub use finish::Finish;
pub use keeping::Keeping;
pub use layout::{About, Entry, Kind, Layout};
pub use part::Part;
pub use place::Place;
pub use scan::scan;
pub use store::{Named, Outcome};

/// BLAKE3 of a chunk's bytes.
pub type Hash = [u8; 32];
