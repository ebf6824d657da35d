//! The codec of messages on streams: framed by their length, numbers little-endian.
//!
//! A protocol says how it frames ([`Framing`]), what its messages are, and which lists it allows; [`Writer`]
//! and [`Reader`] are the bytes of one message, [`Frames`] takes messages off a stream, [`Bodied`] with what
//! follows each of them, and [`Unsent`] is what a stream has yet to take. Every byte is hostile: a frame has
//! a longest length, a list is no longer than its frame, and what doesn't fit exactly is [`Malformed`].
//! Datagrams are not framed; their codecs may use [`Reader`].

mod frames;
mod reader;
mod unsent;
mod writer;

#[cfg(test)]
mod tests;

pub use frames::{Bodied, Frames, Framing};
pub use reader::Reader;
pub use unsent::Unsent;
pub use writer::Writer;

/// What came is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;
