//! Whole transfers in the simulator.

mod faults;
mod rates;
mod support;
