//! Content that a host had before the broadcast began: its chunks are compared with the source's hashes, and
//! only those that differ are transferred.
//!
//! The host joins when all were compared, so that no host is planned behind one that has nothing to give yet.

use super::message::Message;
use super::node::Node;
use super::store::{Hash, StoreError};
use process::Context;

impl Node {
    /// The source's hashes of some chunks: those that are here are the same, or are not.
    pub(super) fn compare_earlier(&mut self, from: u32, hashes: &[Hash], cx: &mut dyn Context) {
        let count = self.chunks().count();
        let Some(compared) = self.compared.as_mut().filter(|compared| compared.chunks == from) else {
            return;
        };
        for (chunk, hash) in (from..count).zip(hashes) {
            match self.store.is_same(chunk, hash) {
                Ok(true) => {
                    compared.same.insert(chunk);
                }
                Ok(false) => {}
                Err(StoreError(reason)) => return self.fail_to_compare(&reason, cx),
            }
            compared.chunks = chunk + 1;
        }
        let next = compared.chunks;
        if next < count {
            return self.tell_coordinator(&Message::AskHashes { from: next }, cx);
        }
        let same = std::mem::take(&mut compared.same);
        if let Err(StoreError(reason)) = self.store.adopt(&same) {
            return self.fail_to_compare(&reason, cx);
        }
        self.compared = None;
        self.take_stock();
        if let Some(stream) = self.follow.stream {
            self.join(stream, cx);
        }
        if self.have == count {
            // Each was compared: there is no need to ask for the hash of all.
            self.completed(cx);
        }
    }

    /// A host that has not joined is waited for: it joins to say that it can't go on.
    fn fail_to_compare(&mut self, reason: &str, cx: &mut dyn Context) {
        self.compared = None;
        if let Some(stream) = self.follow.stream {
            self.join(stream, cx);
        }
        self.fail(reason, cx);
    }
}
