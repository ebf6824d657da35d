//! A data node: sends blocks, and takes them in as a link of a replication pipeline (HDFS).

use crate::block_server::BlockServer;
use crate::prepared::{MILLION, PreparedJob};
use crate::receive::Receive;
use crate::wire::{FRAMING, Message};
use process::wire::Frames;
use process::{Addr, CloseReason, Context, Event, HostId, Payload, Process, StreamId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a stream is for.
#[derive(Debug)]
enum Use {
    /// Its request has not come yet.
    New(Frames),
    Sending(BlockServer),
    Receiving(Receive),
    /// To the next node of a pipeline; what comes in on the other stream goes out here.
    Relay(StreamId),
}

/// A data node, or a node that takes in logs.
#[derive(Debug)]
pub(crate) struct DataNode {
    prepared: Arc<PreparedJob>,
    streams: BTreeMap<StreamId, Use>,
}

impl DataNode {
    pub(crate) fn new(prepared: Arc<PreparedJob>) -> DataNode {
        DataNode { prepared, streams: BTreeMap::new() }
    }

    fn readable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        match self.streams.get_mut(&stream) {
            Some(Use::New(frames)) => match frames.next(stream, cx, Message::decode) {
                Ok(Some(request)) => self.begin(stream, request, cx),
                Ok(None) if !frames.ended => {}
                _ => self.drop_stream(stream, cx),
            },
            Some(Use::Receiving(_)) => self.receive(stream, cx),
            // A reader has nothing more to say.
            Some(Use::Sending(_)) => drop(cx.read(stream, 1)),
            Some(Use::Relay(from)) => {
                let from = *from;
                if cx.read(stream, 1).end
                    && let Some(Use::Receiving(receive)) = self.streams.get_mut(&from)
                {
                    receive.next_done();
                    self.receive(from, cx);
                }
            }
            None => {}
        }
    }

    fn begin(&mut self, stream: StreamId, request: Message, cx: &mut dyn Context) {
        match request {
            Message::Read { bytes } => {
                let mut server = BlockServer::new(bytes, MILLION);
                server.go_on(stream, stream.0, cx);
                self.streams.insert(stream, Use::Sending(server));
                // The reader has closed its side, or will.
                drop(cx.read(stream, 1));
            }
            Message::Write { bytes, group, rest } => {
                let next =
                    rest.split_first().map(|(to, rest)| self.relay(stream, *to, bytes, group, rest, cx));
                self.streams.insert(stream, Use::Receiving(Receive::new(bytes, next)));
                self.receive(stream, cx);
            }
            _ => self.drop_stream(stream, cx),
        }
    }

    /// Opens the stream to the next node of the pipeline.
    fn relay(
        &mut self,
        from: StreamId,
        to: HostId,
        bytes: u64,
        group: u64,
        rest: &[HostId],
        cx: &mut dyn Context,
    ) -> StreamId {
        let next = cx.open(Addr { host: to, port: self.prepared.port }, group);
        let request = Message::Write { bytes, group, rest: rest.to_vec() };
        cx.write(next, Payload::from(request.encode()));
        cx.drain(next);
        self.streams.insert(next, Use::Relay(from));
        next
    }

    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(Use::Receiving(receive)) = self.streams.get_mut(&stream) else { return };
        if !receive.go_on(stream, cx) {
            self.drop_stream(stream, cx);
        }
    }

    fn writable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        match self.streams.get_mut(&stream) {
            Some(Use::Sending(server)) => server.go_on(stream, stream.0, cx),
            Some(Use::Relay(from)) => {
                let from = *from;
                self.receive(from, cx);
            }
            _ => {}
        }
    }

    fn disk_done(&mut self, stream: StreamId, cx: &mut dyn Context) {
        match self.streams.get_mut(&stream) {
            Some(Use::Sending(server)) => server.disk_done(stream, stream.0, cx),
            Some(Use::Receiving(receive)) => {
                receive.disk_done();
                self.receive(stream, cx);
            }
            _ => {}
        }
    }

    /// Gives a stream up, and with it the rest of its pipeline.
    fn drop_stream(&mut self, stream: StreamId, cx: &mut dyn Context) {
        cx.abort(stream);
        self.forget(stream, cx);
    }

    fn forget(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let other = match self.streams.remove(&stream) {
            Some(Use::Receiving(receive)) => receive.next(),
            Some(Use::Relay(from)) => Some(from),
            _ => None,
        };
        if let Some(other) = other.filter(|other| self.streams.contains_key(other)) {
            cx.abort(other);
            self.streams.remove(&other);
        }
    }

    fn closed(&mut self, stream: StreamId, reason: CloseReason, cx: &mut dyn Context) {
        if reason == CloseReason::Finished {
            self.streams.remove(&stream);
        } else {
            self.forget(stream, cx);
        }
    }
}

impl Process for DataNode {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                self.streams.clear();
                cx.listen(self.prepared.port);
                // It only ever serves: the master knows when the job is done.
                cx.finish();
            }
            Event::Accepted { stream, .. } => {
                self.streams.insert(stream, Use::New(Frames::new(FRAMING)));
            }
            Event::Readable { stream } => self.readable(stream, cx),
            Event::Writable { stream } => self.writable(stream, cx),
            Event::Closed { stream, reason } => self.closed(stream, reason, cx),
            Event::Timer { token } => {
                if let Some(Use::Receiving(receive)) = self.streams.get_mut(&StreamId(token)) {
                    receive.tick();
                    self.receive(StreamId(token), cx);
                }
            }
            Event::DiskDone { token } => self.disk_done(StreamId(token), cx),
            _ => {}
        }
    }
}
