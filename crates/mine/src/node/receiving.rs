//! What a node takes in: parts of its stage in order, each once; those of the next stage wait.

use super::link::Body;
use super::machine::{Node, PROBE};
use super::peer::{Cursor, position};
use super::stage::{Stage, Step};
use super::wire::{Message, Part};
use crate::work::Effort;
use process::Context;
use units::Time;

impl Node {
    /// Takes in what has come of a peer, as far as it can be taken in now.
    pub(super) fn read(&mut self, peer: usize, cx: &mut dyn Context) {
        loop {
            let of = &mut self.peers[peer];
            if of.held.is_some() || of.waiting {
                return;
            }
            let Some(link) = &mut of.link else { return };
            match link.receive(cx) {
                Ok(Some((message, body))) => {
                    self.count_received(message.encode().len() as u64 + body.data.len() as u64 + body.zeros);
                    if !self.take(peer, message, body, cx) {
                        return self.refuse(peer, cx);
                    }
                }
                Ok(None) => return,
                Err(_) => return self.refuse(peer, cx),
            }
        }
    }

    /// Takes a message in; whether it can be one.
    fn take(&mut self, peer: usize, message: Message, body: Body, cx: &mut dyn Context) -> bool {
        match message {
            Message::Hello { job, node } => {
                let known =
                    job == self.settings.derived.job && node as usize == peer && !self.peers[peer].greeted;
                self.peers[peer].greeted = known;
                return known;
            }
            _ if !self.peers[peer].greeted => return false,
            Message::From { stage, number, done } => {
                let cursor = Cursor { stage, number, done };
                // Behind a pass comes the next one, however many slices it had.
                let over = done && stage.step == Step::Large;
                self.peers[peer].cursor = Some(if over { Cursor::first(stage.pass + 1) } else { cursor });
                self.peers[peer].pass = stage.pass;
                if stage.pass < self.stage.pass {
                    // It may have heard of an earlier pass only.
                    self.say_position(peer, cx);
                }
                self.catch_up(peer, cx);
            }
            Message::Part(part) => return self.take_part(peer, part, body, cx),
            Message::AskLevel { pass } => self.send_level(peer, pass, cx),
            Message::Level { pass, last, .. } => return self.take_level(peer, pass, last, &body, cx),
        }
        true
    }

    fn take_part(&mut self, peer: usize, part: Part, body: Body, cx: &mut dyn Context) -> bool {
        if self.over || part.stage < self.stage {
            return true;
        }
        let of = &mut self.peers[peer];
        if part.stage > self.stage {
            // Nobody is further ahead: for that, this node's parts would be needed.
            let next = self.stage.next(self.stages);
            let can_be = part.stage == next || part.stage == Stage::first(self.stage.pass + 1);
            if can_be {
                of.held = Some((part, body));
            }
            return can_be;
        }
        if of.done || part.number > of.applied {
            return of.done;
        }
        if part.number == of.applied {
            self.enqueue(peer, part, body, cx);
        }
        true
    }

    /// A part is to be counted, which takes its time.
    pub(super) fn enqueue(&mut self, peer: usize, part: Part, body: Body, cx: &mut dyn Context) {
        let effort = Effort { probed: part.entries.into(), ..Effort::default() };
        if self.time(&effort) == Time::ZERO {
            return self.apply(peer, &part, &body, cx);
        }
        // A node's own parts wait for nobody: they have had their time when they were generated.
        self.peers[peer].waiting = peer != self.me;
        self.inbox.push_back((peer, part, body));
        self.probe(cx);
    }

    fn probe(&mut self, cx: &mut dyn Context) {
        if !self.probing
            && let Some((_, part, _)) = self.inbox.front()
        {
            self.probing = true;
            let effort = Effort { probed: part.entries.into(), ..Effort::default() };
            cx.compute(PROBE, self.time(&effort));
        }
    }

    /// The first part that waits has had its time.
    pub(super) fn probed(&mut self, cx: &mut dyn Context) {
        if !std::mem::replace(&mut self.probing, false) {
            return;
        }
        let Some((peer, part, body)) = self.inbox.pop_front() else { return };
        self.peers[peer].waiting = false;
        self.apply(peer, &part, &body, cx);
        self.probe(cx);
        self.read(peer, cx);
    }

    /// Counts a part, if it has not been counted.
    fn apply(&mut self, peer: usize, part: &Part, body: &Body, cx: &mut dyn Context) {
        let of = &self.peers[peer];
        if self.over || part.stage != self.stage || of.done || part.number != of.applied {
            return;
        }
        if self.work.receive(peer, part, body).is_err() {
            return self.refuse(peer, cx);
        }
        let of = &mut self.peers[peer];
        of.applied += 1;
        of.done = part.last;
        if part.last {
            self.advance(cx);
        }
    }

    /// Tells a peer where this node is.
    pub(super) fn say_position(&mut self, peer: usize, cx: &mut dyn Context) {
        let message = position(self.stage, &self.peers[peer]);
        self.say(peer, &message, cx);
    }

    /// What was held back may be of this stage now.
    pub(super) fn release(&mut self, cx: &mut dyn Context) {
        for peer in 0..self.peers.len() {
            let of = &mut self.peers[peer];
            let current = of.held.as_ref().is_some_and(|(part, _)| part.stage <= self.stage || self.over);
            if current && let Some((part, body)) = of.held.take() {
                if self.take_part(peer, part, body, cx) {
                    self.read(peer, cx);
                } else {
                    self.refuse(peer, cx);
                }
            }
        }
    }
}
