//! Requests and replies on a connection: a head that says how long the body is, and a body of zeros.

use process::wire::{Bodied, Framing, Malformed, Reader, Unsent, Writer};
use process::{Context, Payload, StreamId};

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

    fn encode(self) -> Vec<u8> {
        let mut writer = Writer::new(FRAMING);
        writer.long(self.call).long(self.bytes).long(self.wanted);
        writer.finish()
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
    unsent: Unsent,
    arriving: Bodied<Head>,
    /// Nothing more is sent.
    closed: bool,
}

impl Wire {
    pub(super) fn new() -> Wire {
        Wire { unsent: Unsent::default(), arriving: Bodied::new(FRAMING), closed: false }
    }

    /// All that was sent has been written to the stream.
    pub(super) fn is_written(&self) -> bool {
        self.unsent.is_empty()
    }

    /// The peer sends nothing more.
    pub(super) fn has_ended(&self) -> bool {
        self.arriving.ended()
    }

    /// Sends a head and a body of its length.
    pub(super) fn send(&mut self, head: Head, stream: StreamId, cx: &mut dyn Context) {
        self.unsent.push(head.encode());
        self.unsent.push(Payload::Zeros(head.bytes));
        self.resume(stream, cx);
    }

    /// Writes what the stream takes.
    pub(super) fn resume(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.unsent.flush(stream, cx);
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
        let decode = |content: &[u8]| Head::decode(content).map(|head| (head, head.bytes));
        self.arriving.next(stream, cx, decode, |_, _| {})
    }
}
