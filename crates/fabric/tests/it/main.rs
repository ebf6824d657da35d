//! Switches, queues, pauses and routes, with packets of a small network or of many random ones.

mod cells;
mod conservation;
mod fluid;
mod head_of_line;
mod pfc;
mod ports;
mod red;
mod routes;
mod support;
mod voq;
mod watermarks;
