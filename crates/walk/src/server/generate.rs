//! The source's side of time: when it generates walkers, sleeps, or rests (document 000, *RG*).

use super::{GENERATE, Server, WAKE};
use crate::wire::Walker;
use process::Context;
use units::Time;

/// What generation is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is nothing to generate; the timer is set to then, if walkers are on their way.
    Resting(Time),
    Sleeping,
    Working,
}

impl Server {
    /// The source's turn: looks for losses, then sleeps, or generates, or rests.
    pub(super) fn turn(&mut self, cx: &mut dyn Context) {
        if self.look(cx) {
            self.work(cx);
        }
    }

    /// Looks for losses; says whether to generate. If not, it sleeps or rests.
    fn look(&mut self, cx: &mut dyn Context) -> bool {
        let loss = self.source.check(cx.now(), &self.board.counters);
        if !self.source.has_next() {
            self.rest(cx);
            return false;
        }
        self.counters().loss_checks.add(u64::from(loss));
        let Some(sleep) = self.source.generator.check(loss) else { return true };
        self.counters().sleeps.add(1);
        self.phase = Phase::Sleeping;
        cx.set_timer(WAKE, sleep);
        false
    }

    /// Nothing is to be generated until a walker turns out to be lost, or another may set out.
    pub(super) fn rest(&mut self, cx: &mut dyn Context) {
        let due = self.source.watch.due().filter(|_| !self.source.ledger.is_complete());
        let before = std::mem::replace(&mut self.phase, Phase::Resting(due.unwrap_or(Time::MAX)));
        if let Some(due) = due.filter(|due| before != Phase::Resting(*due)) {
            cx.set_timer(WAKE, due.saturating_sub(cx.now()));
        }
    }

    pub(super) fn work(&mut self, cx: &mut dyn Context) {
        self.phase = Phase::Working;
        cx.compute(GENERATE, self.costs.generate.saturating_mul(self.source.generator.batch().into()));
    }

    /// Generates a batch; where that takes no modelled time, as many as a burst has, with a look before each.
    pub(super) fn on_generated(&mut self, cx: &mut dyn Context) {
        let batch = self.source.generator.batch();
        let mut left = if self.instant { self.settings.burst } else { batch };
        loop {
            self.generate(batch, cx);
            left = left.saturating_sub(batch);
            if left == 0 {
                return self.turn(cx);
            }
            // No time has passed: a look shows nothing but what was told meanwhile.
            let same = self.source.has_next() && self.source.is_calm();
            if !same && !self.look(cx) {
                return;
            }
        }
    }

    fn generate(&mut self, batch: u32, cx: &mut dyn Context) {
        let now = cx.now();
        for _ in 0..batch {
            let Some(walker) = self.source.generate(now, &self.territory, &self.board.counters) else {
                break;
            };
            if self.settings.paths {
                let path = vec![walker.start()];
                self.enqueue(Walker { path, ..walker.unpack(None) }, now, cx);
            } else {
                self.enqueue_packed(walker, now, cx);
            }
        }
    }
}
