//! The two halves of a stream, as every job uses them: write until all is taken, and drop what is
//! read, which the driver does ([`Context::drain`]), up to the end.

use process::{Context, Payload, StreamId};

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

/// The peer of a drained stream may have finished: takes note of it, and says whether it has.
pub(crate) fn ended(stream: StreamId, cx: &mut dyn Context) -> bool {
    cx.read(stream, 1).end
}

/// Closes this side of a stream that another host opened and has finished. That is all a receiver
/// has to do: it keeps no state.
pub(crate) fn close_at_end(stream: StreamId, cx: &mut dyn Context) {
    if ended(stream, cx) {
        cx.close(stream);
    }
}
