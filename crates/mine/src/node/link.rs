//! One end of a stream between nodes: messages with their bodies taken off it, and what waits to be written.

use super::wire::{FRAMING, Message};
use process::wire::{Bodied, Malformed, Unsent};
use process::{Context, Payload, StreamId};

/// What followed a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// Its content, as far as it is real.
    pub data: Vec<u8>,
    /// Bytes of no particular content, as a model sends them.
    pub zeros: u64,
}

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub stream: StreamId,
    arriving: Bodied<(Message, Body)>,
    unsent: Unsent,
    /// Nothing more will be sent.
    pub closed: bool,
}

impl Link {
    pub(crate) fn new(stream: StreamId) -> Link {
        Link { stream, arriving: Bodied::new(FRAMING), unsent: Unsent::default(), closed: false }
    }

    /// Bytes that the stream has not taken.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent.bytes()
    }

    /// Whether the other side has finished.
    pub(crate) fn ended(&self) -> bool {
        self.arriving.ended()
    }

    /// Sends a message and what follows it; says how many bytes they are.
    pub(crate) fn send(
        &mut self,
        message: &Message,
        body: impl IntoIterator<Item = Payload>,
        cx: &mut dyn Context,
    ) -> u64 {
        // A node that has ended the stream has nothing to say that the other side needs.
        if self.closed {
            return 0;
        }
        let mut frame = message.encode();
        let mut bytes = frame.len() as u64;
        let mut body = body.into_iter().filter(|piece| !piece.is_empty()).peekable();
        // What is real goes with the head: as few writes as there can be.
        if let Some(Payload::Data(data)) = body.next_if(|piece| matches!(piece, Payload::Data(_))) {
            bytes += data.len() as u64;
            frame.extend_from_slice(&data);
        }
        self.unsent.push(frame);
        for piece in body {
            bytes += piece.len();
            self.unsent.push(piece);
        }
        self.flush(cx);
        bytes
    }

    /// Writes what waits; to be called when the stream is writable.
    pub(crate) fn flush(&mut self, cx: &mut dyn Context) {
        self.unsent.flush(self.stream, cx);
    }

    /// Nothing more will be sent, once all that waits has gone.
    pub(crate) fn close(&mut self, cx: &mut dyn Context) {
        if self.unsent.is_empty() && !self.closed {
            self.closed = true;
            cx.close(self.stream);
        }
    }

    /// The next message, if it and its body are there whole.
    pub(crate) fn receive(&mut self, cx: &mut dyn Context) -> Result<Option<(Message, Body)>, Malformed> {
        let decode = |content: &[u8]| {
            Message::decode(content).map(|message| ((message, Body::default()), message.body()))
        };
        self.arriving.next(self.stream, cx, decode, |(_, body), pieces| {
            for piece in pieces {
                match piece {
                    // Behind what is only a length nothing can be told apart any more.
                    Payload::Data(bytes) if body.zeros == 0 => body.data.extend_from_slice(&bytes),
                    other => body.zeros += other.len(),
                }
            }
        })
    }
}
