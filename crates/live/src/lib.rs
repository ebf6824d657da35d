//! The live driver: runs Processes on kernel UDP and TCP sockets, by the wall clock, one operating
//! system process a host.
//!
//! The same [`process::Process`] runs in the simulator; what differs is who answers its context.
