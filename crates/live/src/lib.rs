//! The live driver: runs Processes on kernel UDP and TCP sockets, by the wall clock, one operating
//! system process a host.
//!
//! The same [`process::Process`] runs in the simulator; what differs is who answers its context. Datagrams
//! leave and come in batches ([`Datagrams`]), streams are TCP with bounded buffers, timers follow the wall
//! clock, and a computation takes the time that it takes. There is no disk: a transfer is done at once.
//!
//! A [`Member`] is one host of a run: it binds its sockets and says where they are; when all members are
//! known ([`Table`]) it runs its processes until it is told to stop ([`Handle`]), and hands back a
//! [`Report`]. Starting members and carrying these between machines is not this crate's business; [`threads`]
//! does it for threads of one process.
//!
//! A megabyte goes from one host to another, over real sockets of this machine:
//!
//! ```
//! use live::threads::{self, Host};
//! use live::{Job, Outcome, Settings};
//! use process::{HostId, rng};
//! use std::time::Duration;
//! use traffic::{Bulk, HostInfo};
//! use units::{Bytes, Rate, Time};
//!
//! const PORT: u16 = 5000;
//! let bulk = traffic::Job::Bulk(Bulk { pairs: vec![(HostId(0), HostId(1))], bytes: 1_000_000 });
//! let links = [HostInfo { rate: Rate::from_gbps(10), mtu: Bytes::new(1500) }; 2];
//! let processes = traffic::build(&bulk, &links, &mut rng::stream(1, "bulk"), PORT)?;
//! let hosts = processes.into_iter().map(|(host, process)| {
//!     let job = Job { index: 0, name: "bulk".into(), start: Time::ZERO, background: false, process };
//!     Host { host, name: format!("host{}", host.0), jobs: vec![job] }
//! });
//! let reports = threads::run(hosts.collect(), &[PORT], 1, &Settings::default(), Duration::from_secs(60))?;
//! let flow = &reports[0].flows[0];
//! assert_eq!((flow.bytes, flow.outcome), (1_000_000, Outcome::Finished));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod context;
mod datagrams;
mod driver;
mod handle;
pub mod hello;
mod lane;
mod member;
mod pace;
mod report;
pub mod seal;
mod settings;
mod stream;
mod streams;
mod table;
mod task;
pub mod threads;
mod timers;

pub use clock::shortest_sleep;
pub use handle::Handle;
pub use hello::Key;
pub use member::{Error, Job, Member, Run};
pub use report::{
    Counters, DatagramRow, End, FarEnd, FlowRow, FlowSample, JobRow, Outcome, Progress, Report, TaskRow,
};
pub use settings::{Datagrams, Settings};
pub use table::{HostAddress, Table, TableError};
