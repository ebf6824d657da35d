//! Unmodified Linux hosts on the modelled network, in exact virtual time.
//!
//! A [`guest`] is Linux as a program (user-mode Linux). Its clock asks a [`calendar`] when it may go on, and
//! its network card is a [`vhost`] device. Both are the simulator's: a guest is woken by an event of its
//! queue, and what it sends is a packet on its fabric. So a guest sees the switches that simulated hosts see,
//! next to it, and everything happens in one order.
//!
//! Time stands still while a guest computes, unless its processor has a speed. What a guest says is hostile
//! bytes: it can spoil its own network card, nothing else.

pub mod calendar;
pub mod console;
pub mod error;
pub mod exact;
pub mod guest;
pub mod host;
pub mod ip;
pub mod job;
pub mod lab;
pub mod meter;
pub mod offload;
pub mod patience;
mod processor;
pub mod real;
pub mod setting;
mod version;
pub mod vhost;

pub use error::Error;
pub use exact::Exact;
pub use lab::Lab;
pub use real::Real;
