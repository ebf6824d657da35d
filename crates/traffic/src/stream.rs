//! The two halves of a stream, as every job uses them: write until all is taken, read until
//! nothing is left.

use process::{Context, Payload, StreamId};

/// Bytes asked of the driver at a time, which bounds what a peer can make it hand over at once.
const READ_MAX: u64 = 1 << 20;

/// What one side has yet to write; closes its side after the last byte.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// None when this side is closed.
    rest: Option<Payload>,
}

impl Outgoing {
    /// Begins to write `data`.
    pub fn begin(data: Payload, stream: StreamId, cx: &mut dyn Context) -> Outgoing {
        let mut outgoing = Outgoing { rest: Some(data) };
        outgoing.resume(stream, cx);
        outgoing
    }

    /// Whether everything was taken.
    pub fn is_closed(&self) -> bool {
        self.rest.is_none()
    }

    /// Writes what the stream takes; to be called again when it is writable.
    pub fn resume(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(rest) = &mut self.rest else { return };
        if !rest.is_empty() {
            let taken = cx.write(stream, rest.clone());
            rest.split_to(taken);
        }
        if rest.is_empty() {
            self.rest = None;
            cx.close(stream);
        }
    }
}

/// What [`drain`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Bytes read and thrown away.
    pub bytes: u64,
    /// The peer has finished and everything has been read.
    pub end: bool,
}

/// Reads all that is there and throws it away.
pub(crate) fn drain(stream: StreamId, cx: &mut dyn Context) -> Drained {
    let mut bytes = 0;
    loop {
        let read = cx.read(stream, READ_MAX);
        bytes += read.len();
        if read.end || read.is_empty() {
            return Drained { bytes, end: read.end };
        }
    }
}

/// Receives a stream: reads everything, and closes its side at the end. Keeps no state.
pub(crate) fn sink(stream: StreamId, cx: &mut dyn Context) {
    if drain(stream, cx).end {
        cx.close(stream);
    }
}
