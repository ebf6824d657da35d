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
//!
//! A program writes four pages, then reads them in turn. What it waits for them depends on whether the local
//! memory holds three pages or four:
//!
//! ```
//! use farmem::{cost::Cost, curve::Curve, predict::Waits, steps::{Step, Steps}};
//! use units::{Bytes, Rate, Time};
//!
//! let writes = (0..4).map(Step::Write);
//! let reads = (0..396).map(|access| Step::Read(access % 4));
//! let steps = writes.chain(reads).collect();
//! let steps = Steps { steps, pages: (0..4).collect(), page_bits: 12, ..Steps::default() };
//! let curve = Curve::new(&steps, 1);
//! let cost = Cost::new(Time::from_us(10), Rate::from_gbps(40));
//! let wait = |pages| Waits::of(&curve.counts(pages), Bytes::new(4096), &cost, Time::ZERO).total();
//! // LRU evicts each page just before its next use: four pages are written back, and each read fetches one.
//! assert_eq!(wait(3), Time::from_ps((4 + 396) * (10_000_000 + 819_200)));
//! assert_eq!(wait(4), Time::ZERO);
//! ```

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
