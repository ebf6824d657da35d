//! Remote memory behind a local page cache (document 004): what a distance to memory costs a program.
//!
//! [`cache`] is the local memory: which pages it holds, and which one leaves; [`watched`] is the same for who sees few accesses. [`cost`] is what an exchange with remote memory
//! takes. The handler of page faults, the simulator ([`pager`]) and the prediction use both. The handler writes a [`trace`], at a bearable [`pace`]; it becomes
//! [`steps`], and these the counts of exchanges of any cache ([`replay`], for LRU [`curve`]). [`predict`] makes time of counts. [`wire`] is what a program and a
//! memory server say to each other, [`codec`] makes what travels smaller; everywhere else a page is a number, without content. [`intervals`] are sets of addresses. Nothing here reads a file, a clock or a socket.

pub mod cache;
pub mod codec;
pub mod cost;
pub mod curve;
mod index;
pub mod intervals;
pub mod local;
pub mod pace;
pub mod pager;
pub mod predict;
pub mod replay;
mod stack;
pub mod steps;
pub mod trace;
pub mod watched;
pub mod wire;
