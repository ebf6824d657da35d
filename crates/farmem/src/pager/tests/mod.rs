//! Programs and memory nodes in the simulator.

mod accesses;
mod golden;
mod gone;
mod idle;
mod random;
mod support;
mod threads;
