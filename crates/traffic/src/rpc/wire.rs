//! Requests and replies on a connection: a head that says how long the body is, and a body of zeros.

use process::wire::{Frames, Framing, Malformed, Reader, Writer};
use process::{Context, Payload, StreamId};
use std::collections::VecDeque;

/// A request's head: its call, its own bytes and those of the reply. A reply's head has the same form.
const FRAMING: Framing = Framing::new(1, 24);
/// Longest message that a head may announce, in bytes.
const BODY_MAX: u64 = 1 << 53;

/// What a message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) call: u64,
    pub(super) bytes: u64,
    pub(super) wanted: u64,
}

impl Head {
    /// Asks for nothing. No call has this number.
    pub(super) const PING: Head = Head { call: u64::MAX, bytes: 0, wanted: 0 };

    fn encode(self) -> Payload {
        let mut writer = Writer::new(FRAMING);
        writer.long(self.call).long(self.bytes).long(self.wanted);
        Payload::from(writer.finish())
    }

    fn decode(bytes: &[u8]) -> Result<Head, Malformed> {
        let mut reader = Reader::new(bytes);
        let head = Head { call: reader.long()?, bytes: reader.long()?, wanted: reader.long()? };
        if head.bytes > BODY_MAX || head.wanted > BODY_MAX {
            return Err(Malformed);
        }
        reader.end(head)
    }
}

/// One end of a connection: a message that leaves, and a message that arrives.
#[derive(Debug)]
pub(super) struct Wire {
    unsent: VecDeque<Payload>,
    frames: Frames,
    /// The head that has come, and the bytes of its body that have not.
    arriving: Option<(Head, u64)>,
    /// Nothing more is sent.
    closed: bool,
}

impl Wire {
    pub(super) fn new() -> Wire {
        Wire { unsent: VecDeque::new(), frames: Frames::new(FRAMING), arriving: None, closed: false }
    }

    /// All that was sent has been written to the stream.
    pub(super) fn is_written(&self) -> bool {
        self.unsent.is_empty()
    }

    /// The peer sends nothing more.
    pub(super) fn has_ended(&self) -> bool {
        self.frames.ended
    }

    /// Sends a head and a body of its length.
    pub(super) fn send(&mut self, head: Head, stream: StreamId, cx: &mut dyn Context) {
        self.unsent.extend([head.encode(), Payload::Zeros(head.bytes)]);
        self.resume(stream, cx);
    }

    /// Writes what the stream takes.
    pub(super) fn resume(&mut self, stream: StreamId, cx: &mut dyn Context) {
        while let Some(first) = self.unsent.front_mut() {
            let taken = cx.write(stream, first.clone());
            first.split_to(taken);
            if !first.is_empty() {
                return;
            }
            self.unsent.pop_front();
        }
    }

    /// Sends no more; the peer may know already.
    pub(super) fn close(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if !std::mem::replace(&mut self.closed, true) {
            cx.close(stream);
        }
    }

    /// The head of the next message that has come whole.
    pub(super) fn receive(
        &mut self,
        stream: StreamId,
        cx: &mut dyn Context,
    ) -> Result<Option<Head>, Malformed> {
        if self.arriving.is_none() {
            self.arriving = self.frames.next(stream, cx, Head::decode)?.map(|head| (head, head.bytes));
        }
        let Some((head, missing)) = &mut self.arriving else { return Ok(None) };
        while *missing > 0 {
            let read = cx.read(stream, *missing);
            self.frames.ended |= read.end;
            if read.is_empty() {
                return Ok(None);
            }
            *missing -= read.len();
        }
        let head = *head;
        self.arriving = None;
        Ok(Some(head))
    }
}
