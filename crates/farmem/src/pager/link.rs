//! One end of a stream between a program and a memory node: messages read from it with the pages behind them,
//! and data waiting to be written.

use super::wire::{FRAMING, Message};
use process::wire::{Bodied, Malformed, Unsent};
use process::{Context, Payload, StreamId};

/// One end.
#[derive(Debug)]
pub(super) struct Link {
    pub stream: StreamId,
    arriving: Bodied<Message>,
    unsent: Unsent,
}

impl Link {
    pub(super) fn new(stream: StreamId) -> Link {
        Link { stream, arriving: Bodied::new(FRAMING), unsent: Unsent::default() }
    }

    /// Whether the other side has finished.
    pub(super) fn ended(&self) -> bool {
        self.arriving.ended()
    }

    /// Sends a message and its pages; says how many bytes they are.
    pub(super) fn send(&mut self, message: &Message, cx: &mut dyn Context) -> u64 {
        let frame = message.encode();
        let bytes = frame.len() as u64 + message.body();
        self.unsent.push(frame);
        if message.body() > 0 {
            self.unsent.push(Payload::Zeros(message.body()));
        }
        self.flush(cx);
        bytes
    }

    /// Writes what waits; to be called when the stream is writable.
    pub(super) fn flush(&mut self, cx: &mut dyn Context) {
        self.unsent.flush(self.stream, cx);
    }

    /// The next message, if it and its pages are there whole.
    pub(super) fn receive(&mut self, cx: &mut dyn Context) -> Result<Option<Message>, Malformed> {
        let decode = |content: &[u8]| Message::decode(content).map(|message| (message, message.body()));
        self.arriving.next(self.stream, cx, decode, |_, _| {})
    }
}
