//! The sending side of a block read or a fetch: from the disk, a little ahead of the stream, to the stream.

use crate::prepared::MILLION;
use process::{Context, Payload, StreamId};

/// Read from the disk at a time.
const CHUNK: u64 = 1 << 20;
/// Read ahead of the stream at most.
const AHEAD: u64 = 4 << 20;

/// What is still to be sent on a stream.
#[derive(Debug)]
pub(crate) struct BlockServer {
    /// Not read from the disk.
    on_disk: u64,
    /// Being read.
    reading: u64,
    /// In memory, not taken by the stream.
    ready: u64,
    /// Of what is read, millionths that the disk reads; the page cache has the rest.
    uncached: u64,
    closed: bool,
}

impl BlockServer {
    /// Will send `bytes`, of which the disk has to read so many millionths.
    pub(crate) fn new(bytes: u64, uncached: u64) -> BlockServer {
        let (on_disk, ready) = if uncached == 0 { (0, bytes) } else { (bytes, 0) };
        BlockServer { on_disk, reading: 0, ready, uncached, closed: false }
    }

    /// Goes on, when begun and when the stream is writable. The disk's answer comes under `token`.
    pub(crate) fn go_on(&mut self, stream: StreamId, token: u64, cx: &mut dyn Context) {
        if self.ready > 0 {
            self.ready -= cx.write(stream, Payload::Zeros(self.ready));
        }
        if self.reading == 0 && self.on_disk > 0 && self.ready < AHEAD {
            self.reading = self.on_disk.min(CHUNK);
            self.on_disk -= self.reading;
            let from_disk = u128::from(self.reading) * u128::from(self.uncached) / u128::from(MILLION);
            cx.disk_read(token, from_disk as u64);
        }
        if self.ready + self.reading + self.on_disk == 0 && !self.closed {
            self.closed = true;
            cx.close(stream);
        }
    }

    /// The disk has read what it was asked for.
    pub(crate) fn disk_done(&mut self, stream: StreamId, token: u64, cx: &mut dyn Context) {
        self.ready += std::mem::take(&mut self.reading);
        self.go_on(stream, token, cx);
    }
}
