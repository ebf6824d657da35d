//! The shuffle handler of a compute node: serves map outputs to reduces (ShuffleHandler, an auxiliary service
//! of the NodeManager). A request names a reduce and maps; it is refused unless all their outputs are here.

use crate::block_server::BlockServer;
use crate::prepared::PreparedJob;
use crate::wire::{FRAMING, Message};
use process::wire::Frames;
use process::{Context, StreamId};
use std::collections::{BTreeMap, BTreeSet};

/// Marks the disk's answers to the shuffle handler among a node's.
const HANDLER: u64 = 1 << 63;

/// A stream that a reduce has opened.
#[derive(Debug)]
enum Serving {
    /// Its request has not come yet.
    New(Frames),
    Sending(BlockServer),
}

/// Map outputs of a node, and the reduces that fetch them.
#[derive(Debug, Default)]
pub(crate) struct ShuffleHandler {
    streams: BTreeMap<StreamId, Serving>,
    /// Maps whose output is here.
    pub outputs: BTreeSet<u32>,
}

impl ShuffleHandler {
    pub(crate) fn accept(&mut self, stream: StreamId) {
        self.streams.insert(stream, Serving::New(Frames::new(FRAMING)));
    }

    pub(crate) fn readable(&mut self, stream: StreamId, prepared: &PreparedJob, cx: &mut dyn Context) {
        let Some(Serving::New(frames)) = self.streams.get_mut(&stream) else {
            // The end of what the other side had to say.
            return drop(cx.read(stream, 1));
        };
        match frames.next(stream, cx, Message::decode) {
            Ok(Some(Message::Fetch { reduce, maps })) => self.serve(stream, reduce, &maps, prepared, cx),
            Ok(None) if !frames.ended => {}
            _ => self.refuse(stream, cx),
        }
    }

    fn serve(
        &mut self,
        stream: StreamId,
        reduce: u32,
        maps: &[u32],
        prepared: &PreparedJob,
        cx: &mut dyn Context,
    ) {
        if reduce >= prepared.job.reduces || !maps.iter().all(|map| self.outputs.contains(map)) {
            return self.refuse(stream, cx);
        }
        let bytes = maps.iter().map(|map| prepared.part(*map, reduce)).sum();
        let mut server = BlockServer::new(bytes, prepared.uncached);
        server.go_on(stream, HANDLER | stream.0, cx);
        self.streams.insert(stream, Serving::Sending(server));
        drop(cx.read(stream, 1));
    }

    fn refuse(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.streams.remove(&stream);
        cx.abort(stream);
    }

    pub(crate) fn writable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if let Some(Serving::Sending(server)) = self.streams.get_mut(&stream) {
            server.go_on(stream, HANDLER | stream.0, cx);
        }
    }

    /// The disk has answered; false when it wasn't asked from here.
    pub(crate) fn disk_done(&mut self, token: u64, cx: &mut dyn Context) -> bool {
        let stream = StreamId(token & !HANDLER);
        if let Some(Serving::Sending(server)) = self.streams.get_mut(&stream).filter(|_| token & HANDLER != 0)
        {
            server.disk_done(stream, token, cx);
        }
        token & HANDLER != 0
    }

    pub(crate) fn closed(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }
}
