//! The transfer: Processes that execute a plan, the same in the simulator and on sockets.
//!
//! A [`Node`] runs on each host. Hosts request chunks from their parents, and forward them to their children
//! as soon as they have them, so a slow child costs no other host anything. The source coordinates: it plans
//! for the hosts present, and again when one comes or goes or a link changes. Chunks are checked by BLAKE3 on
//! arrival and the whole at the end. Document 003, slides 18 and 23; its stages follow from the orders: what
//! a host's trees don't bring, it requests from their parents as soon as these have it.
//!
//! A [`Store`] keeps the chunks: files or only lengths.

mod blame;
mod children;
mod chunks;
mod compare;
mod compared;
mod config;
mod coordinator;
mod end;
mod fetch;
mod flight;
mod follow;
mod followed;
mod keep;
mod link;
mod links;
mod look;
mod measured;
mod message;
mod node;
mod order;
mod pace;
mod probing;
mod progress;
mod ranked;
mod replan;
mod serve;
mod set;
mod settings;
mod store;
mod streams;
mod wire;
mod writing;

#[cfg(test)]
mod tests;

pub use chunks::{CHUNK_MAX, CHUNKS_MAX, Chunks, chunk_size, good_size, unknown_size};
pub use config::Config;
pub use node::Node;
pub use progress::{Board, Progress, Receiver, Sample, State};
pub use set::ChunkSet;
pub use settings::{HEADROOM, PATIENCE, REPORT, SILENCE, Settings};
pub use store::{Hash, Lengths, Store, StoreError, hash, root};
