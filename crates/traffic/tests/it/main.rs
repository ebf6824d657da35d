//! Tests of the traffic crate: plans as properties, and every kind of job run to its end by a small
//! in-memory driver.

mod background;
mod failures;
mod jobs;
mod plans;
mod rpc;
mod sizes;
mod support;
mod trace;
