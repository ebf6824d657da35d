//! The miner over several nodes, in a small world that delivers in any order and breaks things.

mod ending;
mod faults;
mod results;
mod support;
