//! A stream of messages both ways: Hadoop's RPC connection between a NodeManager and the master.

use crate::wire::{FRAMING, Message};
use process::wire::{Frames, Malformed};
use process::{Context, Payload, StreamId};

/// One end.
#[derive(Debug)]
pub(crate) struct Link {
    pub stream: StreamId,
    frames: Frames,
    /// Not yet taken by the stream.
    unsent: Vec<u8>,
}

impl Link {
    pub(crate) fn new(stream: StreamId) -> Link {
        Link { stream, frames: Frames::new(FRAMING), unsent: Vec::new() }
    }

    pub(crate) fn send(&mut self, message: &Message, cx: &mut dyn Context) {
        self.unsent.extend(message.encode());
        self.flush(cx);
    }

    /// Writes what waits; to be called when the stream is writable.
    pub(crate) fn flush(&mut self, cx: &mut dyn Context) {
        if !self.unsent.is_empty() {
            let taken = cx.write(self.stream, Payload::from(self.unsent.clone()));
            self.unsent.drain(..taken as usize);
        }
    }

    /// Whether the other side has finished.
    pub(crate) fn ended(&self) -> bool {
        self.frames.ended
    }

    /// The messages that have come.
    pub(crate) fn receive(&mut self, cx: &mut dyn Context) -> Result<Vec<Message>, Malformed> {
        let mut messages = Vec::new();
        while let Some(message) = self.frames.next(self.stream, cx, Message::decode)? {
            messages.push(message);
        }
        Ok(messages)
    }
}
