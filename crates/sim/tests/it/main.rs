//! Whole simulated hosts: streams, datagrams, disks, faults.

mod conformance;
mod conservation;
mod drops;
mod hosts;
mod outsiders;
mod parts;
mod receive;
mod streams;
mod support;
