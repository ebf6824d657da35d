//! Traces, replays, caches and what is kept of pages, against plain models of the same.

mod cache;
mod codec;
mod curve;
mod intervals;
mod pace;
mod traced;
mod watched;
mod wire;
