//! How a node ends: the whole is checked against the source's, or the node reports why it can't be completed.

use super::message::Message;
use super::node::{HASH, Node, TICK};
use super::progress::State;
use super::store::{Hash, StoreError, root};
use super::wire::HASHES_MAX;
use process::{Context, HostId, StreamId};
use std::collections::BTreeMap;
use units::Time;

/// Bytes that are hashed before others get their turn.
const HASH_STEP: u64 = 16 << 20;
/// Bytes whose hashes are sent at a time.
const HASHES_STEP: u64 = 64 << 20;
/// Times that the whole may differ from the source's.
const WRONG_MOST: u32 = 3;

impl Node {
    /// All chunks are here: are they the source's?
    pub(super) fn filled(&mut self, cx: &mut dyn Context) {
        if self.complete || self.failed || self.have < self.chunks().count() {
            return;
        }
        if self.coordinator.is_some() {
            // The source is gone: its hashes came with the chunks.
            return self.completed(cx);
        }
        let Some(wanted) = self.root else { return self.tell_coordinator(&Message::AskRoot, cx) };
        let count = self.chunks().count();
        match root(&mut *self.store, count) {
            Ok(root) if root == wanted => self.completed(cx),
            Ok(_) if self.wrong >= WRONG_MOST => {
                let reason = format!("the file differs from the source's, {WRONG_MOST} times over");
                self.fail(&reason, cx);
            }
            Ok(_) => {
                (self.wrong, self.root) = (self.wrong + 1, None);
                self.tell_coordinator(&Message::AskHashes { from: 0 }, cx);
            }
            Err(StoreError(reason)) => self.fail(&reason, cx),
        }
    }

    pub(super) fn completed(&mut self, cx: &mut dyn Context) {
        if let Err(StoreError(reason)) = self.store.complete() {
            return self.fail(&reason, cx);
        }
        self.complete = true;
        if let Some(task) = self.task.take() {
            cx.end_task(task, self.chunks().bytes());
        }
        let now = cx.now();
        self.sampled = None;
        self.sample(now);
        self.board.change(|progress| {
            (progress.state, progress.completed) = (State::Complete, Some(now));
        });
        let mut out = Vec::new();
        self.fetch.plan(&[], &[], &mut out);
        self.send_all(out, cx);
        for stream in self.fetch.spent() {
            self.links.close(stream, cx);
        }
        self.tell_coordinator(&Message::Complete, cx);
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.fill(now);
            self.plan_when_due(cx);
        }
        self.show();
    }

    /// The source's hashes of some chunks: those that differ are fetched again.
    pub(super) fn compare(&mut self, from: u32, hashes: &[Hash], cx: &mut dyn Context) {
        let count = self.chunks().count();
        let mut wrong = Vec::new();
        for (chunk, hash) in (from..count).zip(hashes) {
            match self.store.hash(chunk) {
                Ok(own) if own == *hash => {}
                Ok(_) => wrong.push(chunk),
                Err(StoreError(reason)) => return self.fail(&reason, cx),
            }
        }
        for chunk in &wrong {
            self.store.forget(*chunk);
            self.have -= 1;
        }
        if !wrong.is_empty() {
            // The host it came from may have it wrong too, with a hash that fits.
            let holder = self.follow.trusted().unwrap_or(self.config.source);
            let set = wrong.iter().copied().collect();
            self.fetch_from(wrong.into_iter().map(|chunk| (chunk, holder)).collect(), cx);
            let mut out = Vec::new();
            self.fetch.missing(set, &mut out);
            self.send_all(out, cx);
        }
        let next = from.saturating_add(hashes.len() as u32);
        if next < count && !hashes.is_empty() {
            self.tell_coordinator(&Message::AskHashes { from: next }, cx);
        } else {
            self.filled(cx);
        }
    }

    /// What a member says; whether it may say that.
    pub(super) fn asked(
        &mut self,
        stream: StreamId,
        host: HostId,
        message: Message,
        cx: &mut dyn Context,
    ) -> bool {
        let now = cx.now();
        let Some(coordinator) = &mut self.coordinator else { return false };
        match message {
            Message::Report { chunks, edges } => {
                coordinator.report(&self.config, host, chunks.min(self.config.chunks.count()), &edges, now);
            }
            Message::Complete => coordinator.complete(host, now),
            Message::Failed { reason } => coordinator.failed(host, reason, now),
            Message::Unreachable { host: other } => {
                if coordinator.is_silent(&self.config, other, now) {
                    self.lose(other, cx);
                }
            }
            Message::AskRoot => {
                coordinator.ask_root(host, now);
                self.hash_on(cx);
            }
            Message::AskHashes { from } => self.send_hashes(stream, from, cx),
            _ => return false,
        }
        self.plan_when_due(cx);
        true
    }

    pub(super) fn send_hashes(&mut self, stream: StreamId, from: u32, cx: &mut dyn Context) {
        // What was not read yet is read now, while others wait.
        let most = (HASHES_STEP / self.chunks().size()).clamp(1, HASHES_MAX.into()) as u32;
        let until = from.saturating_add(most).min(self.chunks().count());
        let hashes: Result<Vec<Hash>, StoreError> =
            (from..until).map(|chunk| self.store.hash(chunk)).collect();
        match hashes {
            Ok(hashes) => self.links.send(stream, &Message::Hashes { from, hashes }, cx),
            Err(StoreError(reason)) => self.fail(&reason, cx),
        }
    }

    /// Computes the hash of all, a part at a time, for members that wait for it.
    pub(super) fn hash_on(&mut self, cx: &mut dyn Context) {
        let wanted = self.coordinator.as_ref().is_some_and(|coordinator| coordinator.is_root_wanted());
        if !wanted || self.failed || self.have < self.chunks().count() {
            return;
        }
        let count = self.chunks().count();
        let from = self.hashed.unwrap_or(0);
        let until = from.saturating_add((HASH_STEP / self.chunks().size()).max(1) as u32).min(count);
        for chunk in from..until {
            if let Err(StoreError(reason)) = self.store.hash(chunk) {
                return self.fail(&reason, cx);
            }
        }
        self.hashed = Some(until);
        if until < count {
            return cx.set_timer(HASH, Time::ZERO);
        }
        let hash = match self.root.map_or_else(|| root(&mut *self.store, count), Ok) {
            Ok(hash) => hash,
            Err(StoreError(reason)) => return self.fail(&reason, cx),
        };
        self.root = Some(hash);
        let streams = self.coordinator.iter_mut().flat_map(|coordinator| coordinator.root_wanted());
        for stream in streams.collect::<Vec<_>>() {
            self.links.send(stream, &Message::Root { hash }, cx);
        }
    }

    /// A coordinator with an incomplete copy, when members have had time to join: fetches what they have, or
    /// gives up.
    pub(super) fn gather(&mut self, cx: &mut dyn Context) {
        let count = self.chunks().count();
        let Some(coordinator) = &self.coordinator else { return };
        let now = cx.now();
        let lost = |host| coordinator.is_given_up(&self.config, host, now);
        let waits = self.fetch.is_direct() && !self.fetch.holders().any(lost);
        if self.have == count || !coordinator.has_gathered(&self.config, now) || waits {
            return;
        }
        let missing = (0..count).filter(|chunk| !self.store.have(*chunk)).collect();
        match coordinator.holders(&missing) {
            Ok(holders) => self.fetch_from(holders, cx),
            Err(none) => {
                let source = self.config.source.0;
                let reason = format!(
                    "the source, host {source}, is gone, and {none} of {count} chunks are on no host that is left"
                );
                self.abandon(&reason, cx);
            }
        }
    }

    fn fetch_from(&mut self, holders: BTreeMap<u32, HostId>, cx: &mut dyn Context) {
        let mut out = Vec::new();
        self.fetch.fetch_directly(holders, &mut out);
        self.send_all(out, cx);
        self.connect(cx);
    }

    /// The coordinator can't go on. If a member has everything it is left to that one; otherwise it is over
    /// for all.
    pub(super) fn abandon(&mut self, reason: &str, cx: &mut dyn Context) {
        let members = self.members();
        let complete = self
            .coordinator
            .iter()
            .flat_map(|c| c.members.values())
            .any(|m| m.complete && m.stream.is_some());
        for stream in members {
            if complete {
                self.links.abort(stream, cx);
            } else {
                self.links.send(stream, &Message::Abandon { reason: reason.to_owned() }, cx);
            }
        }
        self.coordinator = None;
        self.give_up(reason, cx);
    }

    /// This node can't go on; the others can.
    pub(super) fn fail(&mut self, reason: &str, cx: &mut dyn Context) {
        if self.failed || self.over {
            return;
        }
        if self.coordinator.is_some() {
            let reason = format!("host {}: {reason}", self.me.0);
            return self.abandon(&reason, cx);
        }
        self.tell_coordinator(&Message::Failed { reason: reason.to_owned() }, cx);
        self.give_up(reason, cx);
    }

    /// Ends all streams; the task stays unfinished.
    fn give_up(&mut self, reason: &str, cx: &mut dyn Context) {
        self.failed = true;
        let hosts: Vec<StreamId> = self.links.all().into_iter().map(|(stream, _)| stream).collect();
        for stream in hosts {
            self.links.close(stream, cx);
        }
        self.serve.clear();
        self.board.change(|progress| progress.state = State::Failed(reason.to_owned()));
        self.show();
        self.leave_when_ended(cx);
    }

    /// Everybody has everything, or never will.
    pub(super) fn finish(&mut self, cx: &mut dyn Context) {
        self.over = true;
        for (stream, _) in self.links.all() {
            self.links.close(stream, cx);
        }
        self.serve.clear();
        self.follow.stream = None;
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.members.values_mut().for_each(|member| member.stream = None);
            coordinator.over = true;
        }
        self.show();
        self.board.change(|progress| progress.state = State::Finished);
        self.leave_when_ended(cx);
    }

    fn leave_when_ended(&mut self, cx: &mut dyn Context) {
        // A peer that is dead doesn't end its streams.
        self.ticking = true;
        cx.set_timer(TICK, self.config.settings.silence);
        self.leave(cx);
    }

    /// The end, when its streams have ended.
    pub(super) fn leave(&mut self, cx: &mut dyn Context) {
        if (self.over || self.failed) && self.links.are_ended() {
            self.ticking = false;
            cx.cancel_timer(TICK);
            cx.finish();
        }
    }
}
