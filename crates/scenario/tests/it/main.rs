//! Scenarios as they are read and run.

mod alike;
mod determinism;
mod faults;
mod flows;
mod golden;
mod loopback;
mod mixed;
mod support;
