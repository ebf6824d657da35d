//! One end of a stream between nodes: messages and chunks taken off it, and what waits to be written.

use super::chunks::Chunks;
use super::store::Hash;
use super::wire::{FRAME_MAX, Malformed, Message};
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
    /// What has come of the frame under way, its length included.
    partial: Vec<u8>,
    chunk: Option<Coming>,
    /// Not yet taken by the stream.
    unsent: VecDeque<Payload>,
    /// The other side has finished.
    pub ended: bool,
}

impl Link {
    pub(crate) fn new(stream: StreamId) -> Link {
        Link { stream, partial: Vec::new(), chunk: None, unsent: VecDeque::new(), ended: false }
    }

    /// Whether the stream has taken all that was sent.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
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
                    self.ended |= read.end;
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
            let want = self.want()?;
            if want > 0 {
                if self.fill(want, cx)? {
                    continue;
                }
                return Ok(None);
            }
            let message = Message::decode(&self.partial[4..], chunks)?;
            self.partial.clear();
            let Message::Chunk { number, ready, hash } = message else {
                return Ok(Some(Item::Message(message)));
            };
            let left = chunks.len(number);
            self.chunk = Some(Coming { number, ready, hash, left, pieces: Vec::new() });
        }
    }

    /// Reads up to `want` bytes of a frame; whether any came.
    fn fill(&mut self, want: usize, cx: &mut dyn Context) -> Result<bool, Malformed> {
        let read = cx.read(self.stream, want as u64);
        self.ended |= read.end;
        let any = !read.is_empty();
        for piece in read.data {
            match piece {
                Payload::Data(bytes) => self.partial.extend_from_slice(&bytes),
                Payload::Zeros(_) => return Err(Malformed),
            }
        }
        Ok(any)
    }

    /// Bytes that are missing to the length, or to the end of the frame.
    fn want(&self) -> Result<usize, Malformed> {
        let Some((length, rest)) = self.partial.split_first_chunk::<4>() else {
            return Ok(4 - self.partial.len());
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > FRAME_MAX { Err(Malformed) } else { Ok(length - rest.len()) }
    }
}
