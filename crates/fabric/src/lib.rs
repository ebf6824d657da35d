//! The network as a clockless model: links, ports, buffers, queue disciplines, schedulers, routes.
//!
//! Nothing here reads a clock or owns a socket. A driver hands in a packet and the time, and is told
//! through [`Driver`] when to come back and what was discarded, so virtual time and wall time drive
//! the same code. For each port a driver keeps the times it was asked for and then calls
//! [`Fabric::arrive`] (a packet reaches the far end) or [`Fabric::transmit`] (the transmitter is free).
//!
//! What a packet carries (`B`) is the driver's: the simulator puts a transport header there,
//! emulation a handle to real bytes.

mod aal5;
mod ahead;
mod atm;
mod buffer;
mod cells;
mod classes;
mod codel;
mod config;
mod counters;
mod deadlock;
mod discipline;
mod drain;
mod fabric;
mod fault;
mod fifo;
mod fluid;
mod leaving;
mod packet;
mod pause;
mod pfc;
mod port;
mod red;
mod ring;
mod routing;
mod scheduled;
pub mod topology;
mod voq;
mod waits;
mod watchdog;
mod wires;

pub use config::{
    Buffer, CellDiscard, CellsConfig, CodelConfig, Depth, Framing, PfcConfig, Queue, RedConfig, Scheduler,
    SwitchConfig, WatchdogAction, WatchdogConfig, Xoff,
};
pub use counters::{CellTotals, Counters, PauseCounters, Sample};
pub use deadlock::{Deadlock, QueueId};
pub use fabric::{Delivery, Driver, Fabric, PortEvent};
pub use fluid::{FluidFlow, FluidTotals};
pub use packet::{Discard, Ecn, Packet};
pub use pause::pause_time;
pub use pfc::headroom_needed;
pub use port::PortId;
pub use routing::Route;
pub use topology::{Graph, Link, LinkProps, NodeId};
pub use waits::WaitTimes;
