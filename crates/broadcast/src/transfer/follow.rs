//! Which coordinator a node follows, and what it does when that one fails.
//!
//! The first coordinator is the source. When it is silent, others are tried: hosts that have everything, in
//! the order of the destinations, as far as the coordinator announced them. A host that finds itself next
//! takes the role. If no host is known to have everything, the source is tried repeatedly: it, or this host,
//! may only be cut off for a while. When no coordinator was heard for [`super::Settings::patience`], all
//! destinations are tried in order. The first one present takes the role, learns from joining hosts what they
//! have, and continues if that is everything. Otherwise the broadcast ends with a list of what is missing.

use super::links::Role;
use super::message::Message;
use super::node::Node;
use super::progress::State;
use super::set::ChunkSet;
use process::{Addr, Context, HostId, StreamId};
use units::Time;

impl Node {
    /// Follows the source.
    pub(super) fn follow_first(&mut self, cx: &mut dyn Context) {
        (self.follow.heard, self.follow.since) = (cx.now(), cx.now());
        let source = self.config.source;
        self.follow(source, cx);
    }

    /// Tries `host` as the coordinator; a node that comes to itself is it.
    fn follow(&mut self, host: HostId, cx: &mut dyn Context) {
        self.follow.tried = Some(host);
        if host == self.me {
            self.stop_following(cx);
            self.coordinate(cx);
            self.plan_when_due(cx);
            return;
        }
        // The coordinator that lost this host told the others, and they ended their streams. This host may
        // not have heard of it.
        self.drop_quiet_parents(cx);
        let stream = cx.open(Addr { host, port: self.config.port }, 0);
        self.links.add(stream, Role::Coordinator, host);
        (self.follow.host, self.follow.stream, self.follow.answered) = (Some(host), Some(stream), false);
        if let Some(compared) = &self.compared {
            let from = compared.next();
            return self.links.send(stream, &Message::AskHashes { from }, cx);
        }
        self.join(stream, cx);
    }

    /// Tells the coordinator what is here.
    pub(super) fn join(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let have: ChunkSet = (0..self.chunks().count()).filter(|chunk| self.store.have(*chunk)).collect();
        self.links.send(stream, &Message::Join { have }, cx);
        if self.complete {
            self.links.send(stream, &Message::Complete, cx);
        }
    }

    /// Ends the stream to the coordinator.
    pub(super) fn stop_following(&mut self, cx: &mut dyn Context) {
        if let Some(stream) = self.follow.stream.take() {
            self.links.abort(stream, cx);
        }
        (self.follow.host, self.follow.answered) = (None, false);
    }

    /// Whether this node may take the coordinator's part when it is asked to: it has it, or it has lost its
    /// own, and has everything or knows no host that has.
    pub(super) fn may_coordinate(&self, now: Time) -> bool {
        let lost = |patience| !self.follow.answered && late(self.follow.heard, patience, now);
        let able = if self.complete {
            lost(self.config.settings.silence)
        } else {
            lost(self.config.settings.patience) && self.follow.rounds > 0
        };
        self.coordinator.is_some() || able && !self.failed
    }

    /// Tries the next when the coordinator is silent.
    pub(super) fn look_at_coordinator(&mut self, cx: &mut dyn Context) {
        if self.coordinator.is_some() || self.over || self.failed {
            return;
        }
        let now = cx.now();
        if late(self.follow.heard.max(self.follow.since), self.config.settings.silence, now) {
            self.follow_next(cx);
        } else if self.follow.stream.is_none() {
            // It was refused, or the stream broke: it may be back.
            let host = self.follow.tried.unwrap_or(self.config.source);
            self.follow(host, cx);
        }
    }

    /// Gives up the host that it follows, and tries another.
    fn follow_next(&mut self, cx: &mut dyn Context) {
        if self.coordinator.is_some() || self.over || self.failed {
            return;
        }
        let now = cx.now();
        self.stop_following(cx);
        self.follow.since = now;
        let next = self.follow.hint.take().unwrap_or_else(|| self.next_candidate(now));
        self.follow(next, cx);
    }

    /// The host after the one that was tried last.
    fn next_candidate(&mut self, now: Time) -> HostId {
        // What only this node knows of itself doesn't count: the others would look elsewhere.
        let known = |host: &&HostId| self.follow.complete.contains(host);
        let all = late(self.follow.heard, self.config.settings.patience, now);
        let others = self.config.destinations.iter().filter(|host| all || known(host));
        let candidates: Vec<HostId> = std::iter::once(&self.config.source).chain(others).copied().collect();
        let at = candidates.iter().position(|host| Some(*host) == self.follow.tried);
        let next = at.map_or(0, |at| (at + 1) % candidates.len());
        self.follow.rounds += u32::from(all);
        candidates[next]
    }

    /// The coordinator's stream is gone.
    pub(super) fn coordinator_closed(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.follow.stream == Some(stream) {
            self.follow.stream = None;
            self.follow.answered = false;
            if self.follow.hint.is_some() {
                // It follows another.
                self.follow_next(cx);
            }
        }
    }

    /// The driver has found that a host is gone.
    pub(super) fn peer_lost(&mut self, host: HostId, cx: &mut dyn Context) {
        self.lose(host, cx);
        if self.follow.host == Some(host) {
            self.follow_next(cx);
        }
    }

    pub(super) fn tell_coordinator(&mut self, message: &Message, cx: &mut dyn Context) {
        if let Some(stream) = self.follow.stream {
            self.links.send(stream, message, cx);
        }
    }

    /// What the coordinator says; whether it may say that.
    pub(super) fn told(
        &mut self,
        stream: StreamId,
        host: HostId,
        message: Message,
        cx: &mut dyn Context,
    ) -> bool {
        if self.follow.stream != Some(stream) {
            return true;
        }
        if let Message::Elsewhere { coordinator } = message {
            self.follow.hint = coordinator.filter(|other| *other != host && *other != self.me);
            return false;
        }
        (self.follow.answered, self.follow.heard, self.follow.rounds) = (true, cx.now(), 0);
        match message {
            Message::Beat { complete } => self.follow.complete = complete,
            Message::Plan { rates, mine, .. } => {
                if mine.iter().any(|(_, parent)| *parent == self.me) {
                    return false;
                }
                self.board.change(|progress| {
                    progress.plans += 1;
                    if progress.state == State::Waiting {
                        progress.state = State::Running;
                    }
                });
                if !self.complete {
                    let mut out = Vec::new();
                    self.fetch.plan(&rates, &mine, &mut out);
                    self.send_all(out, cx);
                    self.connect(cx);
                }
                if self.have == self.chunks().count() && !self.complete {
                    self.filled(cx);
                }
            }
            Message::Root { hash } => {
                self.root = Some(hash);
                self.filled(cx);
            }
            Message::Hashes { from, hashes } if self.compared.is_some() => {
                self.compare_earlier(from, &hashes, cx)
            }
            Message::Hashes { from, hashes } => self.compare(from, &hashes, cx),
            Message::Gone { host } => self.part_with(host, cx),
            Message::Finish => self.finish(cx),
            Message::Abandon { reason } => self.fail(&reason, cx),
            _ => return false,
        }
        true
    }
}

/// Whether more than `patience` has gone by.
fn late(since: Time, patience: Time, now: Time) -> bool {
    now > since.saturating_add(patience)
}
