//! The lab's generic jobs: bulk flows, incast, permutation, all-to-all, flows from a size
//! distribution at a load, replays of flow lists and of coflow traces, background traffic, and
//! remote procedure calls ([`rpc`]).
//!
//! A [`Job`] is data with hosts already resolved; [`build`] checks it, draws what is random, and
//! returns one [`process::Process`] a host. They are free of I/O, so they run unchanged in the
//! simulator and on sockets. What a scenario file looks like is not this crate's business, nor is
//! what gets measured: a driver records every stream that is opened.
//!
//! An incast of two rounds runs in a world in memory (the feature `testing` of [`process`]):
//!
//! ```
//! use process::testing::{Network, World};
//! use process::{HostId, rng};
//! use traffic::{HostInfo, Incast, Job, build};
//! use units::{Bytes, Rate, Time};
//!
//! let senders = vec![HostId(1), HostId(2), HostId(3)];
//! let job = Job::Incast(Incast { senders, receiver: HostId(0), bytes: 64_000, rounds: 2 });
//! let hosts = [HostInfo { rate: Rate::from_gbps(10), mtu: Bytes::new(1500) }; 4];
//! let mut world = World::new(Network::default(), 1);
//! world.add_all(build(&job, &hosts, &mut rng::stream(1, "incast"), 5000)?);
//! assert!(world.finish(Time::from_secs(1)), "the job ends");
//!
//! // The receiver opens a stream to each sender in each round, and the answer comes back on it.
//! let answers: Vec<(u64, u64)> = world.rows.iter().map(|row| (row.group, row.back)).collect();
//! assert_eq!(answers, [[(0, 64_000); 3], [(1, 64_000); 3]].concat());
//! # Ok::<(), units::Problem>(())
//! ```

mod background;
mod build;
pub mod coflow;
pub mod demand;
mod draw;
pub mod flows;
mod incast;
mod job;
mod peer;
pub mod rpc;
mod sender;
mod sends;
mod settings;
pub mod sizes;
mod stream;

pub use build::{Processes, build};
pub use coflow::Coflow;
pub use flows::{Flow, Flows};
pub use job::{FLOWS_MAX, HostInfo};
pub use sends::Sends;
pub use settings::{
    AllToAll, Background, Bulk, Carrier, Coflows, Incast, Job, Load, Model, Named, Order, Permutation, Replay,
};
pub use sizes::Cdf;
