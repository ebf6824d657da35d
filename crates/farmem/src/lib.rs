//! Remote memory behind a local page cache (document 004): what a distance to memory costs a program.
//!
//! [`cache`] is the local memory: which pages it holds, and which one leaves; [`watched`] is the same for
//! handlers that see few accesses. [`cost`] is the cost of an exchange with remote memory. The page-fault
//! handler, the simulator ([`pager`]) and the prediction use both.
//!
//! The handler writes a [`trace`], at a bearable [`pace`]. It becomes [`steps`], and these give the counts of
//! exchanges for any cache ([`replay`], for LRU [`curve`]). [`predict`] turns counts into time. [`wire`] is
//! the protocol between a program and a memory server, and [`codec`] compresses pages in transit; everywhere
//! else a page is a number, without content. [`intervals`] are sets of addresses. Nothing here reads a file,
//! a clock or a socket.

pub mod cache;
pub mod codec;
pub mod cost;
pub mod curve;
mod index;
pub mod intervals;
pub mod local;
pub mod overlap;
pub mod pace;
pub mod pager;
pub mod predict;
pub mod replay;
mod stack;
pub mod steps;
pub mod trace;
pub mod watched;
pub mod wire;
