//! The lab's generic jobs: bulk flows, incast, permutation, all-to-all, flows from a size
//! distribution at a load, replays of flow lists and of coflow traces, background traffic, and
//! remote procedure calls ([`rpc`]).
//!
//! A [`Job`] is data with hosts already resolved; [`build`] checks it, draws what is random, and
//! returns one [`process::Process`] a host. They are free of I/O, so they run unchanged in the
//! simulator and on sockets. What a scenario file looks like is not this crate's business, nor is
//! what gets measured: a driver records every stream that is opened.

mod background;
mod build;
pub mod coflow;
mod draw;
mod incast;
mod job;
mod peer;
pub mod plan;
pub mod rpc;
mod settings;
pub mod sizes;
mod source;
mod stream;

pub use build::{Processes, build};
pub use coflow::Coflow;
pub use job::{FLOWS_MAX, HostInfo};
pub use settings::{
    AllToAll, Background, Bulk, Carrier, Coflows, Flow, Incast, Job, Load, Model, Named, Order, Permutation,
    Replay,
};
pub use sizes::Cdf;
