//! Walkers are served: each goes as far as it can here, and leaves for another server or for its source.
//!
//! Where time is modelled, what a worker has served leaves when its time is over. On real hosts the work
//! itself takes the time: then walkers leave as they are served, a burst after another, and what has come
//! meanwhile waits in the queue.

use super::{SERVE, Server};
use crate::queue::Cause;
use crate::step::HERD;
use crate::wire::{Ended, Record, Walker};
use process::Context;
use units::Time;

/// One of those that serve.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub busy: bool,
    /// Under way until the computation is over.
    leaving: Vec<(u16, Record)>,
    walkers: u64,
    time: Time,
}

impl Server {
    /// A worker begins with those that wait.
    pub(super) fn begin(&mut self, index: usize, cx: &mut dyn Context) {
        if self.instant {
            // When all that has come by now is in the queue.
            self.workers[index].busy = true;
            cx.compute(SERVE + index as u64, Time::ZERO);
        } else {
            self.serve(index, cx);
        }
    }

    /// Serves a burst of walkers: they leave at once.
    fn serve_at_once(&mut self, index: usize, cx: &mut dyn Context) {
        let now = cx.now();
        let mut left = self.settings.derived.burst as usize;
        let mut dropped = Vec::new();
        while left > 0 && self.queue.len() > 0 {
            let most = left.min(HERD);
            let served = if self.territory.drives(self.settings.derived.paths) {
                self.drive(now, most, &mut dropped)
            } else {
                let walker = self.queue.pop(now, |walker| dropped.push(walker));
                walker.into_iter().map(|walker| self.serve_one(walker, now)).count()
            };
            dropped.drain(..).for_each(|walker| self.discard(Cause::Wait, &walker.id, walker.source));
            self.counters().served.add(served as u64);
            left -= served.max(1);
        }
        if self.queue.len() > 0 {
            self.begin(index, cx);
        }
    }

    fn serve_one(&mut self, walker: Walker, now: Time) {
        let before = walker.steps;
        let (to, record) = self.walk(walker);
        self.counters().steps.add(steps_since(before, &record));
        self.leave(to, &record, now);
    }

    /// Takes walkers and moves them together; they leave in the order in which they have gone. Returns how
    /// many.
    fn drive(&mut self, now: Time, most: usize, dropped: &mut Vec<Walker>) -> usize {
        let Server { queue, batch, herd, fates, territory, outbox, source, settings, codec, board, .. } =
            self;
        batch.clear();
        queue.pop_packed(now, most, batch, dropped);
        territory.drive(batch, settings.steps_max, herd);
        let mut steps = 0;
        fates.sort(herd.gone().map(|(number, lane)| {
            let walker = &mut batch[usize::from(number)];
            steps += u64::from(lane.steps);
            walker.moved(lane.at, walker.steps() + lane.steps, lane.stream.0);
            (number, lane.steps < lane.left, walker.source() == codec.server)
        }));
        let walker = |number: &u8| batch[usize::from(*number)];
        for walker in fates.going().iter().map(walker) {
            match territory.part.owner(walker.at()) {
                Some(server) => outbox.push_packed(server, walker),
                // Only a walker that no server has sent comes to a node without an owner.
                None if walker.source() == codec.server => {
                    source.ended(now, walker.ended().view(), &board.counters);
                }
                None => outbox.push_end(walker.source(), walker.ended()),
            }
        }
        for walker in fates.others().iter().map(walker) {
            outbox.push_end(walker.source(), walker.ended());
        }
        for walker in fates.own().iter().map(walker) {
            source.ended(now, walker.ended().view(), &board.counters);
        }
        board.counters.steps.add(steps);
        batch.len()
    }

    /// Serves as many walkers as a worker takes at a time.
    fn serve(&mut self, index: usize, cx: &mut dyn Context) {
        let now = cx.now();
        let mut worker = std::mem::take(&mut self.workers[index]);
        (worker.walkers, worker.time) = (0, Time::ZERO);
        let mut dropped = Vec::new();
        while worker.walkers < u64::from(self.settings.derived.burst) {
            let Some(walker) = self.queue.pop(now, |walker| dropped.push(walker)) else { break };
            let before = walker.steps;
            let (to, record) = self.walk(walker);
            let steps = steps_since(before, &record);
            self.counters().steps.add(steps);
            worker.walkers += 1;
            worker.time = worker.time + self.costs.walker + self.costs.step.saturating_mul(steps);
            worker.leaving.push((to, record));
        }
        dropped.iter().for_each(|walker| self.discard(Cause::Wait, &walker.id, walker.source));
        worker.busy = worker.walkers > 0;
        if worker.busy {
            worker.time += std::mem::take(&mut self.owed);
            cx.compute(SERVE + index as u64, worker.time);
        }
        self.workers[index] = worker;
    }

    /// Moves a walker: where it leaves for, and what leaves.
    fn walk(&self, mut walker: Walker) -> (u16, Record) {
        match self.territory.walk(&mut walker, self.settings.steps_max, self.settings.derived.paths) {
            Some(server) => (server, Record::Walker(walker)),
            None => {
                let Walker { id, source, at: end, steps, path, .. } = walker;
                (source, Record::Ended(Ended { id, end, steps, path }))
            }
        }
    }

    /// What was served leaves, or ends here.
    fn leave(&mut self, to: u16, record: &Record, now: Time) {
        match record {
            Record::Ended(ended) if to == self.codec.server => {
                self.source.ended(now, ended.view(), &self.board.counters);
            }
            record => self.outbox.push(to, record),
        }
    }

    /// A worker has had its time: what it has worked on leaves.
    pub(super) fn on_served(&mut self, index: usize, cx: &mut dyn Context) {
        let Some(worker) = self.workers.get_mut(index).filter(|worker| worker.busy) else { return };
        worker.busy = false;
        if self.instant {
            return self.serve_at_once(index, cx);
        }
        let mut leaving = std::mem::take(&mut worker.leaving);
        let (walkers, time) = (worker.walkers, worker.time);
        self.counters().served.add(walkers);
        self.queue.served(Time::from_ps(time.as_ps() / walkers.max(1)));
        leaving.drain(..).for_each(|(to, record)| self.leave(to, &record, cx.now()));
        // The buffer is used again.
        self.workers[index].leaving = leaving;
    }
}

/// Steps of a walker since it had `before`.
fn steps_since(before: u32, record: &Record) -> u64 {
    let steps = match record {
        Record::Walker(walker) => walker.steps,
        Record::Ended(ended) => ended.steps,
        Record::Dropped(_) => before,
    };
    u64::from(steps - before)
}
