//! One end of a stream between nodes: messages and chunks read from it, and data waiting to be written.

use super::chunks::Chunks;
use super::message::Message;
use super::store::Hash;
use super::wire::FRAMING;
use process::wire::{Frames, Malformed};
use process::{Context, Payload, StreamId};
use std::collections::VecDeque;

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

/// A chunk under way.
#[derive(Debug)]
struct Coming {
    number: u32,
    ready: u32,
    hash: Hash,
    left: u64,
    pieces: Vec<Payload>,
}

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub stream: StreamId,
    frames: Frames,
    chunk: Option<Coming>,
    /// Not yet taken by the stream.
    unsent: VecDeque<Payload>,
}

impl Link {
    pub(crate) fn new(stream: StreamId) -> Link {
        Link { stream, frames: Frames::new(FRAMING), chunk: None, unsent: VecDeque::new() }
    }

    /// Whether the stream has taken all that was sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Whether the other side has finished.
    pub(crate) fn ended(&self) -> bool {
        self.frames.ended
    }

    pub(crate) fn send(&mut self, message: &Message, cx: &mut dyn Context) {
        self.unsent.push_back(message.encode());
        self.flush(cx);
    }

    /// Sends a chunk behind its message.
    pub(crate) fn send_chunk(&mut self, message: &Message, content: Payload, cx: &mut dyn Context) {
        self.unsent.extend([message.encode(), content]);
        self.flush(cx);
    }

    /// Writes what waits; to be called when the stream is writable.
    pub(crate) fn flush(&mut self, cx: &mut dyn Context) {
        while let Some(first) = self.unsent.front_mut() {
            let taken = cx.write(self.stream, first.clone());
            if taken < first.len() {
                first.split_to(taken);
                return;
            }
            self.unsent.pop_front();
        }
    }

    /// The next message or chunk, if it is there whole.
    pub(crate) fn receive(
        &mut self,
        chunks: Chunks,
        cx: &mut dyn Context,
    ) -> Result<Option<Item>, Malformed> {
        loop {
            if let Some(coming) = &mut self.chunk {
                if coming.left > 0 {
                    let read = cx.read(self.stream, coming.left);
                    self.frames.ended |= read.end;
                    coming.left -= read.len();
                    let nothing = read.is_empty();
                    coming.pieces.extend(read.data);
                    if nothing {
                        return Ok(None);
                    }
                    continue;
                }
                let Coming { number, ready, hash, pieces, .. } =
                    self.chunk.take().expect("it was just looked at");
                return Ok(Some(Item::Chunk { number, ready, hash, pieces }));
            }
            let decode = |content: &[u8]| Message::decode(content, chunks);
            let Some(message) = self.frames.next(self.stream, cx, decode)? else { return Ok(None) };
            let Message::Chunk { number, ready, hash } = message else {
                return Ok(Some(Item::Message(message)));
            };
            let left = chunks.len(number);
            self.chunk = Some(Coming { number, ready, hash, left, pieces: Vec::new() });
        }
    }
}
