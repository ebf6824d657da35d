//! A chunk from its arrival to its place in the store: checked, written after the disk's time, forwarded.

use super::node::Node;
use super::store::StoreError;
use super::writing::Writing;
use process::Context;

/// Times that a chunk may come damaged.
const DAMAGED_MOST: u32 = 5;

impl Node {
    /// A chunk came: checks it, and keeps it when the disk has had its time.
    pub(super) fn keep(&mut self, writing: Writing, cx: &mut dyn Context) {
        let Writing { chunk, from: (host, stream), .. } = writing;
        if self.store.hash_of(&writing.pieces) != writing.hash {
            self.board.change(|progress| progress.damaged += 1);
            let times = self.damaged.entry(chunk).or_default();
            *times += 1;
            if *times >= DAMAGED_MOST {
                let reason =
                    format!("chunk {chunk} came damaged {times} times, at last from host {}", host.0);
                return self.fail(&reason, cx);
            }
            let mut out = Vec::new();
            self.fetch.settled(host, stream, &mut out);
            self.fetch.damaged(host, chunk, &mut out);
            return self.send_all(out, cx);
        }
        if !self.config.settings.disk {
            return self.write(&writing, cx);
        }
        self.writes += 1;
        cx.disk_write(self.writes, self.chunks().len(chunk));
        self.writing.insert(self.writes, writing);
    }

    fn write(&mut self, writing: &Writing, cx: &mut dyn Context) {
        let Writing { chunk, from: (host, stream), pieces, hash } = writing;
        if let Err(StoreError(reason)) = self.store.write(*chunk, pieces, hash) {
            return self.fail(&reason, cx);
        }
        self.have += 1;
        let mut out = Vec::new();
        self.fetch.settled(*host, *stream, &mut out);
        self.send_all(out, cx);
        for child in self.serve.arrived(*chunk) {
            self.pump(child, cx);
        }
        if self.have == self.chunks().count() {
            self.filled(cx);
        }
    }

    /// The disk has written a chunk.
    pub(super) fn written(&mut self, token: u64, cx: &mut dyn Context) {
        let Some(writing) = self.writing.remove(&token) else { return };
        self.write(&writing, cx);
        for stream in std::mem::take(&mut self.unread) {
            self.readable(stream, cx);
        }
    }
}
