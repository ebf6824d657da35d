//! The live driver: runs Processes on kernel UDP and TCP sockets, by the wall clock, one operating
//! system process a host.
//!
//! The same [`process::Process`] runs in the simulator; what differs is who answers its context. Datagrams
//! leave and come in batches ([`Datagrams`]), streams are TCP with bounded buffers, timers follow the wall
//! clock, and a computation takes the time that it takes. There is no disk: a transfer is done at once.
//!
//! A [`Member`] is one host of a run: it binds its sockets and says where they are; when all members are
//! known ([`Table`]) it runs its processes until it is told to stop ([`Handle`]), and hands back a
//! [`Report`]. Starting members and carrying these between machines is not this crate's business; [`local`]
//! does it for threads of one process.

mod clock;
mod context;
mod datagrams;
mod driver;
mod handle;
pub mod hello;
mod lane;
pub mod local;
mod member;
mod pace;
mod report;
pub mod seal;
mod settings;
mod stream;
mod streams;
mod table;
mod task;
mod timers;

pub use clock::shortest_sleep;
pub use handle::Handle;
pub use hello::Key;
pub use member::{Error, Job, Member, Run};
pub use report::{Counters, DatagramRow, End, FlowRow, JobRow, Outcome, Progress, Report, TaskRow};
pub use settings::{Datagrams, Settings};
pub use table::{HostAddress, Table, TableError};
