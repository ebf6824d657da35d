//! The simulator: runs Processes in virtual time over the fabric and the transports.
//!
//! It joins what knows nothing of each other: [`fabric`] moves packets, [`transport`] makes them,
//! [`process`] decides what to say. Everything that happens is an event with a time and a key of the
//! model; the outcome is a function of the set-up and the seed, byte for byte.
//!
//! Results leave as [`Records`]; nothing here writes a file or reads a clock.
//!
//! A host that computes for a second, alone:
//!
//! ```
//! use fabric::topology::{TopologyError, single_switch};
//! use fabric::{Framing, LinkProps, SwitchConfig};
//! use process::{Context, Event, HostId, Process};
//! use sim::{HostConfig, JobSetup, Pause, Setup, Sim};
//! use units::{Rate, Time};
//!
//! struct Computes;
//!
//! impl Process for Computes {
//!     fn handle(&mut self, event: Event, cx: &mut dyn Context) {
//!         match event {
//!             Event::Start => cx.compute(0, Time::from_secs(1)),
//!             _ => cx.finish(),
//!         }
//!     }
//! }
//!
//! let link = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
//! let host = HostConfig { cores: 2, ..HostConfig::default() };
//! let job = JobSetup {
//!     name: "work".into(),
//!     kind: "example".into(),
//!     start: Time::ZERO,
//!     class: 0,
//!     background: false,
//!     processes: vec![(HostId(0), Box::new(Computes))],
//! };
//! let mut sim = Sim::new(Setup {
//!     graph: single_switch(1, link)?,
//!     framing: Framing::ETHERNET,
//!     seed: 1,
//!     switches: vec![SwitchConfig::default()],
//!     hosts: vec![host],
//!     jobs: vec![job],
//!     faults: Vec::new(),
//!     until: Time::from_secs(10),
//! });
//! while sim.run(1000) == Pause::Running {}
//! assert_eq!(sim.job_records()[0].end, Some(Time::from_secs(1)));
//! # Ok::<(), TopologyError>(())
//! ```

mod ahead;
mod body;
mod buckets;
mod config;
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
mod outsiders;
mod parts;
mod ports;
mod pump;
mod receive;
mod received;
mod records;
mod run;
mod sample;
mod setup;
mod skip;
mod slab;
mod stall;
mod task;
mod timer;
mod wheel;
mod work;

pub use config::{HostConfig, Kernel};
pub use diverge::{Divergence, diverge};
pub use fault::{Change, LinkChange};
pub use fluid::{FluidError, FluidSetup};
pub use job::JobSetup;
pub use outsiders::{Delivered, Outward, RawPacket};
pub use parts::{Cut, Parts};
pub use ports::{TooManyJobs, home_port, job_ports};
pub use process::rng;
pub use records::{
    DatagramRecord, FlowRecord, FlowSample, HostDrops, HostRecord, HostSample, JobRecord, Outcome,
    PacketSeen, PauseSample, Records, TaskOutcome, TaskRecord, Transport,
};
pub use run::{Pause, Progress, Sim};
pub use setup::Setup;
