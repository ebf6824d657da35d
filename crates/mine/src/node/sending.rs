//! What a node sends: stages are generated one after the other, each for all that lack it. A node that comes
//! back later gets it generated once more.

use super::machine::{Node, STEP};
use super::run::Run;
use super::stage::Stage;
use super::wire::Message;
use crate::work::{Effort, Outbox, Ready};
use process::{Context, Payload};
use units::Time;

/// Generation waits while so many bytes, and a block, wait for a stream.
const UNSENT: u64 = 256 << 10;

impl Node {
    /// The stage of which a peer lacks parts, if it can take them.
    fn lacks(&mut self, peer: usize) -> Option<Stage> {
        let of = &mut self.peers[peer];
        if peer != self.me && !of.is_open() {
            return None;
        }
        let cursor = of.cursor.as_mut().filter(|cursor| cursor.stage.pass == self.stage.pass)?;
        *cursor = cursor.settled(self.stages);
        // Others may say anything.
        (cursor.stage <= self.stage && self.stages.has(cursor.stage)).then_some(cursor.stage)
    }

    /// Goes on with whatever can be done.
    pub(super) fn go_on(&mut self, cx: &mut dyn Context) {
        if self.over {
            return self.leave(cx);
        }
        match &self.run {
            Some(run) if run.under_way.is_some() => {}
            Some(run) if run.blocked => {
                if !self.is_full() {
                    self.step(cx);
                }
            }
            Some(_) => {}
            None => self.begin_run(cx),
        }
    }

    /// Begins with the first stage that somebody lacks.
    fn begin_run(&mut self, cx: &mut dyn Context) {
        let nodes = 0..self.peers.len();
        // A stage is generated once for all that are about to come.
        if self.patient && nodes.clone().any(|peer| peer != self.me && !self.peers[peer].greeted) {
            return;
        }
        let lacking: Vec<Option<Stage>> = nodes.map(|peer| self.lacks(peer)).collect();
        let Some(stage) = lacking.iter().flatten().min().copied() else { return };
        let wanted = lacking.iter().map(|of| *of == Some(stage)).collect();
        self.work.start(stage);
        let out = Outbox::new(stage, &self.settings, wanted);
        self.run = Some(Run { out, under_way: None, generated: false, blocked: false });
        self.step(cx);
    }

    /// Whether a stream that the stage goes to is full.
    fn is_full(&self) -> bool {
        let Some(run) = &self.run else { return false };
        let most = UNSENT + self.settings.block as u64;
        let full = |link: &super::link::Link| link.unsent() > most;
        (0..self.peers.len())
            .any(|peer| run.out.wants(peer) && self.peers[peer].link.as_ref().is_some_and(full))
    }

    /// A step of generation, unless a stream is full.
    fn step(&mut self, cx: &mut dyn Context) {
        let blocked = self.is_full();
        let Some(run) = &mut self.run else { return };
        run.blocked = blocked;
        if blocked {
            return;
        }
        let (effort, generated) = self.work.step(&mut run.out);
        run.generated = generated;
        let time = self.costs.time(&effort, self.pace_ppm);
        run.under_way = Some(time);
        self.show(&effort);
        if self.costs.disk && effort.bytes > 0 {
            cx.disk_read(STEP, effort.bytes);
        } else {
            self.has_read(cx);
        }
    }

    /// The transactions of a step are there.
    pub(super) fn has_read(&mut self, cx: &mut dyn Context) {
        match self.run.as_ref().and_then(|run| run.under_way) {
            // Others get their turn.
            Some(Time::ZERO) => cx.set_timer(STEP, Time::ZERO),
            Some(time) => cx.compute(STEP, time),
            None => {}
        }
    }

    /// A step has had its time.
    pub(super) fn stepped(&mut self, cx: &mut dyn Context) {
        let Some(run) = &mut self.run else { return };
        if run.under_way.take().is_none() {
            return;
        }
        let (ready, generated) = (run.out.take(), run.generated);
        for ready in ready {
            self.deliver(ready, cx);
        }
        if generated && let Some(run) = self.run.take() {
            self.end_run(&run);
        }
        if self.run.is_some() {
            self.step(cx);
        }
        self.advance(cx);
    }

    /// Sends a part, if it is the next that its node lacks.
    fn deliver(&mut self, ready: Ready, cx: &mut dyn Context) {
        let Ready { to, part, body, padding } = ready;
        let peer = &mut self.peers[to];
        let Some(cursor) = &mut peer.cursor else { return };
        if cursor.done || (cursor.stage, cursor.number) != (part.stage, part.number) {
            return;
        }
        if to == self.me {
            cursor.number += 1;
            let body = super::link::Body { data: bytes(body), zeros: 0 };
            return self.enqueue(to, part, body, cx);
        }
        let Some(link) = peer.link.as_mut().filter(|link| !link.closed) else { return };
        cursor.number += 1;
        let sent = link.send(&Message::Part(part), [body, Payload::Zeros(padding)], cx);
        self.count_sent(sent);
        if part.stage.step == super::stage::Step::Give {
            self.count_entries(part.entries.into());
        }
    }

    /// A stage has been generated: a node that has had all of it goes on to the next.
    fn end_run(&mut self, run: &Run) {
        let stage = run.out.stage();
        for to in 0..self.peers.len() {
            let parts = run.out.parts(to);
            if let Some(cursor) = &mut self.peers[to].cursor
                && run.out.wants(to)
                && cursor.stage == stage
                && cursor.number >= parts
            {
                cursor.done = true;
                *cursor = cursor.settled(self.stages);
            }
        }
    }

    /// Shows how far generation is.
    fn show(&self, effort: &Effort) {
        let transactions = effort.transactions;
        if transactions > 0 {
            self.board.change(|progress| progress.done += transactions);
        }
    }
}

fn bytes(body: Payload) -> Vec<u8> {
    match body {
        Payload::Data(bytes) => bytes.to_vec(),
        Payload::Zeros(_) => Vec::new(),
    }
}
