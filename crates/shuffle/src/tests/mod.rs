//! Tests of the parts, and of whole jobs in the simulator.

mod faults;
mod heartbeats;
mod jobs;
mod parts;
mod refused;
mod remote_calls;
mod support;
