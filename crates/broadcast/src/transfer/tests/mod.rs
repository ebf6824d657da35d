//! Whole transfers in the simulator.

mod changes;
mod far;
mod faults;
mod hindsight;
mod outages;
mod rates;
mod support;
mod unknown;
