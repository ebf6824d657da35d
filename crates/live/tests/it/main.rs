//! The live driver on loopback sockets: against the simulator, against strangers, against its own bounds.

mod conformance;
mod datagrams;
mod faults;
mod hostile;
mod jobs;
mod streams;
mod support;
mod walks;
