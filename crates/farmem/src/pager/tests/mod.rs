//! Programs and memory nodes in the simulator.

mod golden;
mod gone;
mod idle;
mod random;
mod source;
mod support;
mod threads;
