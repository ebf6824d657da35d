//! Stable broadcast: one source, many receivers, and a slow one never slows the others (document 003).
//!
//! [`topology`] is a network with a rate per link and direction; [`mod@plan`] is what a planner returns:
//! trees of hosts that relay, each with a rate; [`transfer`] has the Processes that execute a plan. Nothing
//! here reads a file, a clock or a socket.

pub mod algorithm;
pub mod assign;
pub mod bound;
pub mod check;
mod dijkstra;
mod elastic;
mod flat;
mod flow;
mod fpfr;
pub mod infer;
mod near;
mod pipeline;
pub mod plan;
pub mod plan_data;
pub mod probe;
mod residual;
mod route;
mod slots;
mod stable;
pub mod stages;
pub mod topology;
mod trace;
pub mod transfer;
