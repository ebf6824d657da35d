//! A host of a job made of flows: it sends what is demanded of it, and receives whatever comes.

use crate::sender::Sender;
use crate::stream;
use process::{Context, Event, Process};

/// Sender and receiver of one host.
#[derive(Debug)]
pub(crate) struct Peer {
    port: u16,
    sender: Sender,
}

impl Peer {
    /// Listens on `port` and runs `sender`.
    pub fn new(port: u16, sender: Sender) -> Peer {
        Peer { port, sender }
    }
}

impl Process for Peer {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Accepted { stream, .. } => return cx.drain(stream),
            Event::Readable { stream } if !self.sender.owns(stream) => {
                return stream::close_at_end(stream, cx);
            }
            Event::Start => cx.listen(self.port),
            _ => {}
        }
        self.sender.handle(event, cx);
    }
}
