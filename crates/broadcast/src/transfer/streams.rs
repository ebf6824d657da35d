//! The streams of a node: their input by purpose, and the meaning of their end.

use super::link::Item;
use super::links::Role;
use super::message::Message;
use super::node::Node;
use super::writing::{WRITES, Writing};
use process::{Addr, Context, HostId, StreamId};

impl Node {
    /// Opens streams to parents that have none, and ends those to hosts that are none.
    pub(super) fn connect(&mut self, cx: &mut dyn Context) {
        if self.complete || self.failed {
            return;
        }
        let group = self.task.map_or(0, |task| task.0);
        for host in self.fetch.unconnected() {
            if host == self.me {
                continue;
            }
            let stream = cx.open(Addr { host, port: self.config.port }, group);
            self.links.add(stream, Role::Parent, host);
            let mut out = Vec::new();
            self.fetch.connected(host, stream, &mut out);
            self.send_all(out, cx);
        }
        for stream in self.fetch.spent() {
            self.links.close(stream, cx);
        }
    }

    /// A host is gone: its streams lead nowhere.
    pub(super) fn lose(&mut self, host: HostId, cx: &mut dyn Context) {
        let mut out = Vec::new();
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.lose(host, cx.now(), &mut out);
        }
        self.part_with(host, cx);
        self.send_all(out, cx);
        self.plan_when_due(cx);
    }

    /// Drops the streams of chunks with a host, and as the coordinator that of its membership.
    pub(super) fn part_with(&mut self, host: HostId, cx: &mut dyn Context) {
        for (stream, role) in self.links.with(host) {
            if role != Role::Coordinator {
                self.forget(stream, role, host);
                self.links.abort(stream, cx);
            }
        }
    }

    /// What a stream was for is over.
    fn forget(&mut self, stream: StreamId, role: Role, host: HostId) {
        match role {
            Role::Parent => self.fetch.lost(host, stream),
            Role::Child => self.serve.remove(host, stream),
            Role::Unknown | Role::Coordinator | Role::Member => {}
        }
    }

    /// Reads what has come on a stream.
    pub(super) fn readable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        loop {
            if self.writing.len() >= WRITES && !self.unread.contains(&stream) {
                return self.unread.push(stream);
            }
            let Some(end) = self.links.get(stream) else { return };
            let (role, host) = (end.role, end.host);
            match end.link.receive(self.config.chunks, cx) {
                Err(_) => return self.broken(stream, cx),
                Ok(Some(item)) => {
                    if !self.take(stream, role, host, item, cx) {
                        return self.broken(stream, cx);
                    }
                }
                Ok(None) if end.link.ended() => {
                    self.closed(stream, cx);
                    return cx.close(stream);
                }
                Ok(None) => return,
            }
        }
    }

    /// A peer that says what it may not.
    fn broken(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.closed(stream, cx);
        cx.abort(stream);
    }

    /// A stream is gone.
    pub(super) fn closed(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(end) = self.links.remove(stream) else { return };
        self.forget(stream, end.role, end.host);
        match end.role {
            Role::Parent => self.tell_coordinator(&Message::Unreachable { host: end.host }, cx),
            Role::Member => {
                let here = self.coordinator.as_ref().and_then(|c| c.members.get(&end.host));
                if here.is_some_and(|member| member.stream == Some(stream)) && !self.over {
                    self.lose(end.host, cx);
                }
            }
            Role::Coordinator => self.coordinator_closed(stream, cx),
            Role::Unknown | Role::Child => {}
        }
    }

    /// One thing that came; whether it may come there.
    fn take(&mut self, stream: StreamId, role: Role, host: HostId, item: Item, cx: &mut dyn Context) -> bool {
        match (role, item) {
            (Role::Unknown, Item::Message(message)) => self.greeted(stream, host, message, cx),
            (Role::Coordinator, Item::Message(message)) => self.told(stream, host, message, cx),
            (Role::Member, Item::Message(message)) => self.asked(stream, host, message, cx),
            (Role::Child, Item::Message(message)) => self.ordered(stream, host, message, cx),
            (Role::Parent, Item::Message(Message::Dropped { set })) => {
                let mut out = Vec::new();
                self.fetch.dropped(host, &set, &mut out);
                self.send_all(out, cx);
                for stream in self.fetch.spent() {
                    self.links.close(stream, cx);
                }
                true
            }
            (Role::Parent, Item::Chunk { number, ready, hash, pieces }) => {
                let came = self.fetch.came(host, number, ready).is_ok();
                if came {
                    let from = (host, stream);
                    self.received += self.chunks().len(number);
                    self.keep(Writing { chunk: number, from, pieces, hash }, cx);
                }
                came
            }
            _ => false,
        }
    }

    /// The end that has opened a stream says what for.
    fn greeted(&mut self, stream: StreamId, host: HostId, message: Message, cx: &mut dyn Context) -> bool {
        let now = cx.now();
        let role = match message {
            Message::Fetch => {
                if let Some(before) = self.serve.add(host, stream, self.chunks().size(), now) {
                    self.links.abort(before, cx);
                }
                Role::Child
            }
            // It compares what it had before, and joins then.
            Message::AskHashes { from }
                if self.coordinator.is_some() && self.have == self.chunks().count() =>
            {
                self.send_hashes(stream, from, cx);
                return true;
            }
            Message::AskHashes { .. } => {
                let coordinator = self.follow.trusted();
                self.links.send(stream, &Message::Elsewhere { coordinator }, cx);
                return true;
            }
            Message::Join { have } => {
                if !self.may_coordinate(now) {
                    let coordinator = self.follow.trusted();
                    self.links.send(stream, &Message::Elsewhere { coordinator }, cx);
                    return true;
                }
                if self.coordinator.is_none() {
                    self.stop_following(cx);
                    self.coordinate(cx);
                }
                let coordinator = self.coordinator.as_mut().expect("it is one now");
                match coordinator.join(host, stream, have, now) {
                    Err(()) => return false,
                    Ok(Some(before)) => self.links.abort(before, cx),
                    Ok(None) => {}
                }
                self.over = false;
                self.tick_on(cx);
                Role::Member
            }
            _ => return false,
        };
        if let Some(end) = self.links.get(stream) {
            end.role = role;
        }
        self.plan_when_due(cx);
        true
    }
}
