//! Walks against what the definitions say exactly: in memory, on sockets and in the simulator. Seeds are
//! fixed.

mod exact;
mod memory;
mod servers;
mod ways;
