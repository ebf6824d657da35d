//! From stage to stage and pass to pass: what is complete, what is kept, and how a node that is behind
//! catches up.
//!
//! A node that is a pass behind asks a node that is ahead for what the pass found, and skips the rest of the
//! pass: a node is ahead only when it has had everything that it needed.

use super::board::PassReport;
use super::costs::PPM;
use super::link::Body;
use super::machine::Node;
use super::peer::Cursor;
use super::stage::{Stage, Step};
use super::wire::Message;
use crate::items::Level;
use crate::progress::Outlook;
use crate::work::itemsets;
use process::{Context, Payload};
use rand::RngExt;
use std::sync::Arc;

impl Node {
    /// Goes on to the next stage as long as one is complete.
    pub(super) fn advance(&mut self, cx: &mut dyn Context) {
        // Its own part is in only when the stage has been generated to its end.
        while !self.over && self.peers.iter().all(|peer| peer.done) {
            if self.run.as_ref().is_some_and(|run| run.is_of(self.stage)) {
                return;
            }
            let stage = self.stage;
            self.work.complete(stage);
            self.peers.iter_mut().for_each(super::peer::Peer::advance);
            self.stage = stage.next(self.stages);
            match self.stage.step {
                Step::Give if self.stage.pass > stage.pass => {
                    let level = self.work.level();
                    self.end_pass(level, cx);
                }
                Step::Large => self.tasks.broadcast = Some(cx.begin_task("broadcast", stage.pass.into())),
                _ => {}
            }
            self.release(cx);
        }
    }

    /// A pass is over, here at least.
    fn end_pass(&mut self, level: Level, cx: &mut dyn Context) {
        self.journal.append(&level);
        let (now, large) = (cx.now(), level.len() as u64);
        self.board.change(|progress| {
            if let Some(report) = progress.passes.last_mut() {
                (report.end, report.large) = (now, large);
            }
        });
        Arc::make_mut(&mut self.levels).push(level);
        self.look_ahead();
        for task in [self.tasks.broadcast.take(), self.tasks.pass.take()].into_iter().flatten() {
            cx.end_task(task, self.tasks.bytes);
        }
        self.begin_pass(cx);
        // A node that lacks a part of the pass that is over can't be sent it any more.
        for peer in 0..self.peers.len() {
            let behind =
                self.peers[peer].cursor.is_some_and(|cursor| cursor.stage < Stage::first(self.stage.pass));
            if behind {
                self.say_position(peer, cx);
            }
        }
    }

    /// Shows what may follow, when that is more than fits into memory.
    fn look_ahead(&self) {
        let held = self.levels.iter().map(Level::bytes).sum();
        let outlook = self
            .levels
            .last()
            .and_then(|last| Outlook::behind(last, held, self.settings.derived.found_most()));
        if outlook.is_some() {
            self.board.change(|progress| progress.outlook = outlook);
        }
    }

    /// Begins the pass behind those that are finished, or ends.
    pub(super) fn begin_pass(&mut self, cx: &mut dyn Context) {
        let pass = self.levels.len() as u32 + 1;
        self.stage = Stage::first(pass);
        self.run = None;
        self.peers.iter_mut().for_each(super::peer::Peer::advance);
        self.peers[self.me].cursor = Some(Cursor::first(pass));
        let last = self.settings.longest.is_some_and(|longest| pass as usize > longest);
        let found_nothing = self.levels.last().is_some_and(Level::is_empty);
        let coming = if last || found_nothing { None } else { self.work.begin(pass, &self.levels) };
        let Some(coming) = coming else { return self.finish() };
        self.stages = coming.stages;
        let variation = u64::from(self.costs.variation_ppm);
        self.pace_ppm = if variation == 0 {
            PPM
        } else {
            cx.rng().random_range(PPM.saturating_sub(variation)..=PPM + variation)
        };
        self.tasks.pass = Some(cx.begin_task("pass", pass.into()));
        self.tasks.bytes = 0;
        let of = coming.scans * self.work.transactions();
        let report = PassReport {
            pass,
            candidates: coming.candidates,
            scans: coming.scans,
            begin: cx.now(),
            ..PassReport::default()
        };
        self.board.change(|progress| {
            (progress.pass, progress.done, progress.of) = (pass, 0, of);
            progress.passes.push(report);
        });
    }

    /// All is found.
    fn finish(&mut self) {
        self.over = true;
        self.board.finished(Arc::clone(&self.levels));
    }

    /// Ends its side of streams with those that need nothing more; when all are done with it, it has
    /// finished.
    pub(super) fn leave(&mut self, cx: &mut dyn Context) {
        let end = self.stage;
        for peer in &mut self.peers {
            let has_all = peer.cursor.is_some_and(|cursor: Cursor| cursor.stage >= end);
            if let Some(link) = &mut peer.link
                && (has_all || link.ended())
            {
                link.close(cx);
            }
        }
        if (0..self.peers.len()).all(|peer| peer == self.me || self.peers[peer].settled) {
            cx.finish();
        }
    }

    /// Asks a peer that is ahead for what this node lacks; when there is nothing more, tells all where it is.
    pub(super) fn catch_up(&mut self, peer: usize, cx: &mut dyn Context) {
        if self.peers[peer].pass > self.stage.pass && !self.over && self.peers[peer].level.is_none() {
            let pass = self.stage.pass;
            self.peers[peer].level = Some(Level::new(pass as usize));
            self.say(peer, &Message::AskLevel { pass }, cx);
        }
    }

    pub(super) fn send_level(&mut self, peer: usize, pass: u32, cx: &mut dyn Context) {
        let Some(level) = self.levels.get(pass as usize - 1) else { return };
        let bodies = itemsets(level, self.settings.block);
        let count = bodies.len();
        for (at, body) in bodies.into_iter().enumerate() {
            let message = Message::Level { pass, last: at + 1 == count, bytes: body.len() as u32 };
            if let Some(link) = &mut self.peers[peer].link {
                let sent = link.send(&message, [Payload::from(body)], cx);
                self.count_sent(sent);
            }
        }
    }

    /// Some of a level that was asked for; whether it can be.
    pub(super) fn take_level(
        &mut self,
        peer: usize,
        pass: u32,
        last: bool,
        body: &Body,
        cx: &mut dyn Context,
    ) -> bool {
        let Some(mut level) = self.peers[peer].level.take() else { return false };
        if level.length() != pass as usize || body.zeros > 0 {
            return false;
        }
        let (length, counts) = (level.length(), self.settings.derived.minimum..=self.settings.total());
        let (words, rest) = body.data.as_chunks::<4>();
        if !rest.is_empty() || words.len() % (length + 1) != 0 {
            return false;
        }
        for row in words.chunks_exact(length + 1) {
            let row: Vec<u32> = row.iter().map(|word| u32::from_le_bytes(*word)).collect();
            let (itemset, count) = row.split_at(length);
            let behind = level.len().checked_sub(1).is_none_or(|last| level.itemset(last) < itemset);
            let ascends = itemset.is_sorted_by(|a, b| a < b);
            let known = itemset
                .iter()
                .all(|item| self.levels.first().is_none_or(|first| first.find(&[*item]).is_some()));
            if !behind || !ascends || !known || !counts.contains(&count[0].into()) {
                return false;
            }
            level.push(itemset, count[0].into());
        }
        if !last {
            self.peers[peer].level = Some(level);
        } else if pass == self.stage.pass && !self.over {
            self.adopt(peer, level, cx);
        }
        true
    }

    /// Another node's finished pass is this node's too.
    fn adopt(&mut self, peer: usize, level: Level, cx: &mut dyn Context) {
        self.end_pass(level, cx);
        self.catch_up(peer, cx);
        if self.peers[peer].level.is_none() {
            for other in 0..self.peers.len() {
                if other != self.me {
                    self.say_position(other, cx);
                }
            }
            self.release(cx);
        }
    }

    pub(super) fn count_sent(&mut self, bytes: u64) {
        self.tasks.bytes += bytes;
        self.change_report(|report| report.sent_bytes += bytes);
    }

    pub(super) fn count_received(&mut self, bytes: u64) {
        self.tasks.bytes += bytes;
        self.change_report(|report| report.received_bytes += bytes);
    }

    pub(super) fn count_entries(&mut self, entries: u64) {
        self.change_report(|report| report.sent_entries += entries);
    }

    fn change_report(&self, change: impl FnOnce(&mut PassReport)) {
        self.board.change(|progress| {
            if let Some(report) = progress.passes.last_mut() {
                change(report);
            }
        });
    }
}
