//! What a node does for its children.

use super::message::Message;
use super::node::{Node, PACE};
use super::serve::Shelf;
use process::{Context, HostId, StreamId};

impl Node {
    /// What a child says.
    pub(super) fn ordered(
        &mut self,
        stream: StreamId,
        host: HostId,
        message: Message,
        cx: &mut dyn Context,
    ) -> bool {
        match message {
            Message::Want { class, now, set } => {
                let back = self.serve.want(host, class, now, &set, &*self.store);
                if !back.is_empty() {
                    self.links.send(stream, &Message::Dropped { set: back }, cx);
                }
                self.fetch_awaited(cx);
            }
            Message::Drop { set } => {
                let set = self.serve.take_back(host, &set);
                self.links.send(stream, &Message::Dropped { set }, cx);
                self.fetch_awaited(cx);
            }
            Message::Rank { class, set } => {
                self.serve.rank(host, class, &set);
                self.fetch_awaited(cx);
            }
            Message::Pace { rate } => self.serve.set_pace(host, rate, self.config.headroom, cx.now()),
            Message::Got { chunks } => {
                if !self.serve.got(host, chunks, cx.now()) {
                    return false;
                }
            }
            _ => return false,
        }
        self.pump(host, cx);
        true
    }

    /// What children wait for is fetched first.
    fn fetch_awaited(&mut self, cx: &mut dyn Context) {
        if !self.complete {
            let mut out = Vec::new();
            self.fetch.awaited(self.serve.awaited(), &mut out);
            self.send_all(out, cx);
        }
    }

    /// Sends a child what can go.
    pub(super) fn pump(&mut self, host: HostId, cx: &mut dyn Context) {
        let chunks = self.chunks();
        let shelf = Shelf { store: &mut *self.store, links: &mut self.links, cx: &mut *cx };
        match self.serve.pump(host, |chunk| chunks.len(chunk), shelf) {
            Ok(Some(wait)) => cx.set_timer(PACE | u64::from(host.0), wait),
            Ok(None) => {}
            Err(error) => self.fail(&error.0, cx),
        }
    }
}
