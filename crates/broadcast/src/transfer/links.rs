//! The streams of a node, and the host to which each leads.

use super::link::Link;
use super::message::Message;
use process::{Context, HostId, StreamId};
use std::collections::{BTreeMap, BTreeSet};

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
pub(crate) struct Links {
    ends: BTreeMap<StreamId, End>,
    /// Streams that this node has ended, and the other side not yet.
    ending: BTreeSet<StreamId>,
}

impl Links {
    pub(crate) fn add(&mut self, stream: StreamId, role: Role, host: HostId) {
        self.ends.insert(stream, End { link: Link::new(stream), role, host });
    }

    pub(crate) fn get(&mut self, stream: StreamId) -> Option<&mut End> {
        self.ends.get_mut(&stream)
    }

    pub(crate) fn remove(&mut self, stream: StreamId) -> Option<End> {
        self.ends.remove(&stream)
    }

    pub(crate) fn send(&mut self, stream: StreamId, message: &Message, cx: &mut dyn Context) {
        if let Some(end) = self.ends.get_mut(&stream) {
            end.link.send(message, cx);
        }
    }

    /// Ends a stream in good order.
    pub(crate) fn close(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.ends.remove(&stream).is_some() {
            // What still comes is of no use, but the stream ends only when it has been read.
            cx.drain(stream);
            cx.close(stream);
            self.ending.insert(stream);
        }
    }

    /// The stream is gone on both sides.
    pub(crate) fn ended(&mut self, stream: StreamId) {
        self.ending.remove(&stream);
    }

    /// Whether all streams that were ended are gone.
    pub(crate) fn are_ended(&self) -> bool {
        self.ending.is_empty()
    }

    /// Drops a stream at once.
    pub(crate) fn abort(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.ends.remove(&stream).is_some() {
            cx.abort(stream);
        }
    }

    /// The streams with a host.
    pub(crate) fn with(&self, host: HostId) -> Vec<(StreamId, Role)> {
        self.ends
            .iter()
            .filter(|(_, end)| end.host == host)
            .map(|(stream, end)| (*stream, end.role))
            .collect()
    }

    /// All streams.
    pub(crate) fn all(&self) -> Vec<(StreamId, Role)> {
        self.ends.iter().map(|(stream, end)| (*stream, end.role)).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.ends.clear();
        self.ending.clear();
    }
}
