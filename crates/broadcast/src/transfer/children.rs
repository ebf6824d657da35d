//! What a node does for its children.

use super::message::Message;
use super::node::{Node, PACE, PROBE};
use super::probing::Probing;
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
            Message::Pace { rate } => {
                let unknown = self.probing().is_some_and(|probing| {
                    probing.takes_up(host);
                    probing.is_unknown(host)
                });
                let percent = self.config.settings.headroom.filter(|_| !unknown);
                self.serve.set_pace(host, rate, percent, cx.now());
            }
            Message::Got { chunks } => {
                if !self.serve.got(host, chunks, cx.now()) {
                    return false;
                }
                if self.probing().is_some_and(|probing| probing.got(host, chunks, cx.now())) {
                    self.probed(cx);
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

    /// What the coordinator finds out of rates, when they are not known.
    fn probing(&mut self) -> Option<&mut Probing> {
        self.coordinator.as_mut()?.probing.as_mut()
    }

    /// A host's rate is known: the next is looked at, and when there is none, the others go on.
    fn probed(&mut self, cx: &mut dyn Context) {
        let Some(coordinator) = &mut self.coordinator else { return };
        coordinator.probed(cx.now());
        self.plan_when_due(cx);
        self.pump_all(cx);
    }

    /// Sends all children what can go, first to those of which nothing is known.
    fn pump_all(&mut self, cx: &mut dyn Context) {
        let mut hosts = self.serve.hosts();
        hosts.sort_by_key(|host| self.probing().is_some_and(|probing| !probing.is_unknown(*host)));
        hosts.into_iter().for_each(|host| self.pump(host, cx));
    }

    /// A train may have taken too long.
    pub(super) fn look_at_train(&mut self, cx: &mut dyn Context) {
        let now = cx.now();
        let Some(probing) = self.probing() else { return };
        probing.timer = None;
        if probing.expire(now) {
            self.probed(cx);
        }
        self.time_train(cx);
    }

    /// Sets a timer for the train that is to be looked at next.
    fn time_train(&mut self, cx: &mut dyn Context) {
        let now = cx.now();
        let Some(probing) = self.probing() else { return };
        let deadline = probing.deadline();
        if let Some(at) = deadline.filter(|at| probing.timer.is_none_or(|timer| *at < timer)) {
            probing.timer = Some(at);
            cx.set_timer(PROBE, at.saturating_sub(now));
        }
    }

    /// Sends a child what can go.
    pub(super) fn pump(&mut self, host: HostId, cx: &mut dyn Context) {
        let chunks = self.chunks();
        let probing = self.coordinator.as_mut().and_then(|coordinator| coordinator.probing.as_mut());
        let shelf = Shelf { store: &mut *self.store, links: &mut self.links, cx: &mut *cx, probing };
        let pumped = self.serve.pump(host, |chunk| chunks.len(chunk), shelf);
        self.time_train(cx);
        match pumped {
            Ok(Some(wait)) => cx.set_timer(PACE | u64::from(host.0), wait),
            Ok(None) => {}
            Err(error) => self.fail(&error.0, cx),
        }
    }
}
