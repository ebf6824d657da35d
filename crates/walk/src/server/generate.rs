//! The source's side of time: when it generates walkers, sleeps, or rests (document 000, *RG*).

use super::{GENERATE, Server, WAKE};
use crate::ledger::Next;
use crate::queue::Cause;
use crate::wire::Walker;
use crate::wire::packed::Packed;
use process::Context;
use rand::RngExt;
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
        let mut left = if self.instant { self.settings.derived.burst } else { batch };
        loop {
            // No time passes: a look shows nothing but what was told meanwhile, that walkers were dropped
            // here.
            let most = if self.source.is_calm() { left.next_multiple_of(batch) } else { batch };
            left = left.saturating_sub(self.generate(most, batch, cx));
            if left == 0 {
                return self.turn(cx);
            }
            let same = self.source.has_next() && self.source.is_calm();
            if !same && !self.look(cx) {
                return;
            }
        }
    }

    /// Generates walkers, at most `most`, and no more batches once one was dropped. Returns how many it was
    /// to be.
    fn generate(&mut self, mut most: u32, batch: u32, cx: &mut dyn Context) -> u32 {
        let now = cx.now();
        let mut count = 0;
        while count < most
            && let Some(next) = self.source.next(most - count)
        {
            let (begun, refused) = self.admit(next, now, cx);
            self.source.begin(now, next, begun, &self.board.counters);
            count += begun;
            if let Some((cause, walker)) = refused {
                self.discard(cause, &walker.id(), walker.source());
                most = count.next_multiple_of(batch);
            }
        }
        most
    }

    /// Lets walkers into the queue until one is refused: how many that were, and the one.
    fn admit(&mut self, next: Next, now: Time, cx: &mut dyn Context) -> (u32, Option<(Cause, Packed)>) {
        let Server { source, queue, territory, settings, .. } = self;
        let mut begun = 0;
        for walker in source.walkers(next, now, territory) {
            begun += 1;
            match queue.admit(now, || cx.rng().random()) {
                Err(cause) => return (begun, Some((cause, walker))),
                Ok(()) if settings.derived.paths => {
                    let path = vec![walker.start()];
                    queue.push(now, Walker { path, ..walker.unpack(None) });
                }
                Ok(()) => queue.push_packed(now, walker),
            }
        }
        (begun, None)
    }
}
