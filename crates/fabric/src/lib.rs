//! The network as a clockless model: links, ports, buffers, queue disciplines, schedulers, routes.
//!
//! Nothing here reads a clock or owns a socket. A driver hands in a packet and the time. [`Driver`] tells it
//! when to come back and what was discarded, so virtual time and wall time drive the same code. For each port
//! a driver keeps the times it was asked for and then calls [`Fabric::arrive`] (a packet reaches the far end)
//! or [`Fabric::transmit`] (the transmitter is free).
//!
//! What a packet carries (`B`) is the driver's: the simulator puts a transport header there,
//! emulation a handle to real bytes.
//!
//! A driver that lets one packet cross a switch:
//!
//! ```
//! use fabric::topology::{TopologyError, single_switch};
//! use fabric::{Discard, Driver, Fabric, Framing, LinkProps, NodeId, Packet, PortEvent, PortId, SwitchConfig};
//! use units::{Rate, Time};
//!
//! /// The port that has to be asked next, and when.
//! #[derive(Default)]
//! struct Next(Option<(Time, PortId)>);
//!
//! impl Driver<&'static str> for Next {
//!     fn schedule(&mut self, at: Time, event: PortEvent) {
//!         if let PortEvent::Arrive(port) = event {
//!             self.0 = Some((at, port));
//!         }
//!     }
//!     fn discard(&mut self, _: Time, _: PortId, _: &Packet<&'static str>, reason: Discard) {
//!         panic!("nothing is in its way, but {}", reason.name());
//!     }
//!     fn sent(&mut self, _: Time, _: PortId, _: &Packet<&'static str>) {}
//! }
//!
//! let link = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
//! let mut fabric = Fabric::new(&single_switch(2, link)?, Framing::ETHERNET, 1, |_| SwitchConfig::default());
//! let hash = fabric.flow_hash(NodeId(0), NodeId(1), 4000, 80, 6);
//! let (port, route) = fabric.route(NodeId(0), NodeId(1), hash).expect("both are on one switch");
//! let packet = Packet { route, hash, bytes: 1500, body: "hello", ..Packet::default() };
//!
//! let mut next = Next::default();
//! fabric.enqueue(Time::ZERO, PortId::NONE, port, &packet, &mut next);
//! let mut arrived = None;
//! while let Some((now, port)) = next.0.take() {
//!     if let Some(delivery) = fabric.arrive(now, port, &mut next) {
//!         arrived = Some((now, fabric.collect(delivery).body));
//!     }
//! }
//! // Two links: 1,538 bytes on the wire at 10 Gb/s, and a microsecond.
//! assert_eq!(arrived, Some((Time::from_ps(2 * (1_230_400 + 1_000_000)), "hello")));
//! # Ok::<(), TopologyError>(())
//! ```

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
mod driver;
mod entry;
mod fabric;
mod fault;
mod fifo;
mod fluid;
mod ids;
mod leaving;
mod packet;
mod parts;
mod pause;
mod peak;
mod pfc;
mod port;
mod queue;
mod red;
mod ring;
mod routing;
mod scheduled;
mod setup;
mod skip;
pub mod topology;
mod voq;
mod waits;
mod watermarks;
mod wires;

pub use config::{
    Buffer, CellDiscard, CellsConfig, CodelConfig, Depth, Framing, PfcConfig, Queue, RedConfig, Scheduler,
    SwitchConfig, WatchdogAction, WatchdogConfig, Xoff,
};
pub use counters::{CellTotals, Counters, PauseCounters, Sample};
pub use deadlock::{Deadlock, QueueId};
pub use driver::{Delivery, Driver, PortEvent};
pub use fabric::Fabric;
pub use fluid::{FluidFlow, FluidTotals};
pub use ids::{NodeId, PortId, Route};
pub use packet::{Discard, Ecn, Packet};
pub use pause::{Cause, CauseTotals, pause_time};
pub use peak::Level;
pub use pfc::headroom_needed;
pub use routing::EqualPaths;
pub use skip::Passed;
pub use topology::{Graph, Link, LinkProps};
pub use waits::WaitTimes;
pub use watermarks::{GroupLevel, PoolLevel};
