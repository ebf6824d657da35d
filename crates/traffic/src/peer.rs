//! A host of a job made of flows: it sends what is planned for it, and receives whatever comes.

use crate::source::Source;
use crate::stream;
use process::{Context, Event, Process};

/// Source and sink of one host.
#[derive(Debug)]
pub(crate) struct Peer {
    port: u16,
    source: Source,
}

impl Peer {
    /// Listens on `port` and runs `source`.
    pub fn new(port: u16, source: Source) -> Peer {
        Peer { port, source }
    }
}

impl Process for Peer {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Accepted { stream, .. } => return cx.drain(stream),
            Event::Readable { stream } if !self.source.owns(stream) => {
                return stream::close_at_end(stream, cx);
            }
            Event::Start => cx.listen(self.port),
            _ => {}
        }
        self.source.handle(event, cx);
    }
}
