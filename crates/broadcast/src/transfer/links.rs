//! The streams of a node, and whom each leads to.

use super::link::Link;
use super::wire::Message;
use process::{Context, HostId, StreamId};
use std::collections::BTreeMap;

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Somebody opened it and has not said why.
    Unknown,
    /// This node takes its orders from there.
    Coordinator,
    /// There is a member that takes this node for the coordinator.
    Member,
    /// Chunks come from there.
    Parent,
    /// Chunks go there.
    Child,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct End {
    pub link: Link,
    pub role: Role,
    pub host: HostId,
}

/// All streams of a node.
#[derive(Debug, Default)]
pub(crate) struct Links(BTreeMap<StreamId, End>);

impl Links {
    pub(crate) fn add(&mut self, stream: StreamId, role: Role, host: HostId) {
        self.0.insert(stream, End { link: Link::new(stream), role, host });
    }

    pub(crate) fn get(&mut self, stream: StreamId) -> Option<&mut End> {
        self.0.get_mut(&stream)
    }

    pub(crate) fn remove(&mut self, stream: StreamId) -> Option<End> {
        self.0.remove(&stream)
    }

    pub(crate) fn send(&mut self, stream: StreamId, message: &Message, cx: &mut dyn Context) {
        if let Some(end) = self.0.get_mut(&stream) {
            end.link.send(message, cx);
        }
    }

    /// Ends a stream in good order.
    pub(crate) fn close(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.0.remove(&stream).is_some() {
            // What still comes is of no use, but the stream ends only when it has been read.
            cx.drain(stream);
            cx.close(stream);
        }
    }

    /// Drops a stream at once.
    pub(crate) fn abort(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.0.remove(&stream).is_some() {
            cx.abort(stream);
        }
    }

    /// The streams with a host.
    pub(crate) fn with(&self, host: HostId) -> Vec<(StreamId, Role)> {
        self.0.iter().filter(|(_, end)| end.host == host).map(|(stream, end)| (*stream, end.role)).collect()
    }

    /// All streams.
    pub(crate) fn all(&self) -> Vec<(StreamId, Role)> {
        self.0.iter().map(|(stream, end)| (*stream, end.role)).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
