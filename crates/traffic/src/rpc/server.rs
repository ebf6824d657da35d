//! The server: each request takes a core for a time, then it is replied to.

use super::wire::{Head, Wire};
use process::wire::Malformed;
use process::{Context, Event, StreamId};
use std::collections::BTreeMap;
use units::Time;

/// Replies to requests.
#[derive(Debug)]
pub(super) struct Server {
    port: u16,
    service: Time,
    connections: BTreeMap<StreamId, Wire>,
    /// Requests that have a core or wait for one, by the computation's token.
    working: BTreeMap<u64, (StreamId, Head)>,
    next: u64,
}

impl Server {
    pub(super) fn new(port: u16, service: Time) -> Server {
        Server { port, service, connections: BTreeMap::new(), working: BTreeMap::new(), next: 0 }
    }

    pub(super) fn handle(&mut self, event: &Event, cx: &mut dyn Context) {
        match *event {
            Event::Start => {
                self.connections.clear();
                self.working.clear();
                cx.listen(self.port);
            }
            Event::Accepted { stream, .. } => {
                self.connections.insert(stream, Wire::new());
            }
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(wire) = self.connections.get_mut(&stream) {
                    wire.resume(stream, cx);
                }
            }
            Event::Computed { token } => {
                if let Some((stream, head)) = self.working.remove(&token) {
                    self.reply(stream, head, cx);
                }
            }
            Event::Closed { stream, .. } => {
                self.connections.remove(&stream);
            }
            _ => {}
        }
    }

    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(wire) = self.connections.get_mut(&stream) else { return };
        loop {
            match wire.receive(stream, cx) {
                Ok(Some(Head::PING)) => {}
                Ok(Some(head)) if self.service > Time::ZERO => {
                    self.working.insert(self.next, (stream, head));
                    cx.compute(self.next, self.service);
                    self.next += 1;
                }
                Ok(Some(head)) => wire.send(Head { bytes: head.wanted, wanted: 0, ..head }, stream, cx),
                Ok(None) if wire.has_ended() => return wire.close(stream, cx),
                Ok(None) => return,
                Err(Malformed) => {
                    self.connections.remove(&stream);
                    return cx.abort(stream);
                }
            }
        }
    }

    /// The connection may be gone by now.
    fn reply(&mut self, stream: StreamId, head: Head, cx: &mut dyn Context) {
        if let Some(wire) = self.connections.get_mut(&stream) {
            wire.send(Head { bytes: head.wanted, wanted: 0, ..head }, stream, cx);
        }
    }
}
