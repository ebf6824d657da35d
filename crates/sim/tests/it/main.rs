//! Whole simulated hosts: streams, datagrams, disks, faults.

mod conformance;
mod drops;
mod hosts;
mod receive;
mod streams;
mod support;
