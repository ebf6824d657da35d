//! The simulator: runs Processes in virtual time over the fabric and the transports.
//!
//! It joins what knows nothing of each other: [`fabric`] moves packets, [`transport`] makes them,
//! [`process`] decides what to say. Everything that happens is an event with a time and a key of the
//! model; the outcome is a function of the set-up and the seed, byte for byte.
//!
//! Results leave as [`Records`]; nothing here writes a file or reads a clock.

mod ahead;
mod body;
mod buckets;
mod context;
mod datagram;
mod diverge;
mod endpoint;
mod fault;
mod flow;
mod fluid;
mod host;
mod job;
mod key;
mod net;
mod outside;
mod ports;
mod pump;
mod receive;
mod records;
mod run;
mod sample;
mod setup;
mod slab;
mod stall;
mod task;
mod timer;
mod wheel;
mod work;

pub use diverge::{Divergence, diverge};
pub use fault::{Change, LinkChange};
pub use fluid::{FluidError, FluidSetup};
pub use host::HostConfig;
pub use job::JobSetup;
pub use ports::{TooManyJobs, home_port, job_ports};
pub use process::rng;
pub use records::{
    DatagramRecord, FlowRecord, FlowSample, HostRecord, HostSample, JobRecord, Outcome, PacketSeen, Records,
    TaskOutcome, TaskRecord, Transport,
};
pub use run::{Pause, Progress, Sim};
pub use setup::Setup;
