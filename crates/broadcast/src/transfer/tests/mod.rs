//! Whole transfers in the simulator.

mod changes;
mod faults;
mod hindsight;
mod rates;
mod support;
