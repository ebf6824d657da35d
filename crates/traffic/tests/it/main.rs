//! Tests of the traffic crate: demands as properties, and every kind of job run to its end by a small
//! in-memory driver.

mod background;
mod coflow_trace;
mod demands;
mod failures;
mod jobs;
mod rpc;
mod sizes;
mod support;
