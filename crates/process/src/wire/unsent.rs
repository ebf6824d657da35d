//! What a stream has yet to take.

use crate::{Context, Payload, StreamId};
use std::collections::VecDeque;

/// Data that waits to be written to a stream, in its order.
#[derive(Debug, Default)]
pub struct Unsent {
    pieces: VecDeque<Payload>,
    bytes: u64,
}

impl Unsent {
    /// Adds data at the end. [`Unsent::flush`] writes it.
    pub fn push(&mut self, piece: impl Into<Payload>) {
        let piece = piece.into();
        self.bytes += piece.len();
        self.pieces.push_back(piece);
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the stream has taken all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Writes what the stream takes; to be called again when it is writable.
    pub fn flush(&mut self, stream: StreamId, cx: &mut dyn Context) {
        while let Some(first) = self.pieces.front_mut() {
            let taken = cx.write(stream, first.clone());
            self.bytes -= taken;
            first.split_to(taken);
            if !first.is_empty() {
                return;
            }
            self.pieces.pop_front();
        }
    }
}
