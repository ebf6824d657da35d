//! Whole transfers in the simulator.

mod changes;
mod faults;
mod rates;
mod support;
