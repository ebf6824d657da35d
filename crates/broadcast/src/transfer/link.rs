//! One end of a stream between nodes: messages and chunks read from it, and data waiting to be written.

use super::chunks::Chunks;
use super::message::Message;
use super::store::Hash;
use super::wire::FRAMING;
use process::wire::{Bodied, Malformed, Unsent};
use process::{Context, Payload, StreamId};

/// What came on a stream.
#[derive(Debug)]
pub(crate) enum Item {
    /// A message other than [`Message::Chunk`].
    Message(Message),
    /// A chunk, whole.
    Chunk {
        number: u32,
        /// More chunks that the parent could send at once.
        ready: u32,
        hash: Hash,
        pieces: Vec<Payload>,
    },
}

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub stream: StreamId,
    arriving: Bodied<Item>,
    unsent: Unsent,
}

impl Link {
    pub(crate) fn new(stream: StreamId) -> Link {
        Link { stream, arriving: Bodied::new(FRAMING), unsent: Unsent::default() }
    }

    /// Whether the stream has taken all that was sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Whether the other side has finished.
    pub(crate) fn ended(&self) -> bool {
        self.arriving.ended()
    }

    pub(crate) fn send(&mut self, message: &Message, cx: &mut dyn Context) {
        self.unsent.push(message.encode());
        self.flush(cx);
    }

    /// Sends a chunk behind its message.
    pub(crate) fn send_chunk(&mut self, message: &Message, content: Payload, cx: &mut dyn Context) {
        self.unsent.push(message.encode());
        self.unsent.push(content);
        self.flush(cx);
    }

    /// Writes what waits; to be called when the stream is writable.
    pub(crate) fn flush(&mut self, cx: &mut dyn Context) {
        self.unsent.flush(self.stream, cx);
    }

    /// The next message or chunk, if it is there whole.
    pub(crate) fn receive(
        &mut self,
        chunks: Chunks,
        cx: &mut dyn Context,
    ) -> Result<Option<Item>, Malformed> {
        let decode = |content: &[u8]| match Message::decode(content, chunks)? {
            Message::Chunk { number, ready, hash } => {
                Ok((Item::Chunk { number, ready, hash, pieces: Vec::new() }, chunks.len(number)))
            }
            message => Ok((Item::Message(message), 0)),
        };
        self.arriving.next(self.stream, cx, decode, |item, parts| {
            if let Item::Chunk { pieces, .. } = item {
                pieces.extend(parts);
            }
        })
    }
}
