//! Scenarios as they are read and run.

mod alike;
mod determinism;
mod faults;
mod golden;
mod mixed;
mod support;
