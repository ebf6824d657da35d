//! Remote calls that a container or a task makes one after the other, each when the last one is answered:
//! connections and their authentication, the umbilical, the NameNode's metadata.
//!
//! A task that waits for calls waits for as many round trips to the master: a queue on the way costs its
//! delay for each. What they ask for, and the time of the master, are left out.

use crate::env::{Env, Op};
use crate::wire::{Kind, Message};
use units::Time;

/// Calls under way, and what follows them.
#[derive(Debug, Default)]
pub(crate) struct RemoteCalls {
    /// Not yet answered.
    left: u32,
    /// What begins after the last answer, and when it is done.
    then: Option<(Op, Time)>,
}

impl RemoteCalls {
    /// Makes `n` calls, lets `delay` pass after them, and goes on with `op`.
    pub(crate) fn before(&mut self, n: u32, op: Op, delay: Time, env: &mut Env<'_>) {
        (self.left, self.then) = (n, Some((op, delay)));
        self.next(env);
    }

    /// The master has answered.
    pub(crate) fn answered(&mut self, env: &mut Env<'_>) {
        if self.left > 0 {
            self.left -= 1;
            self.next(env);
        }
    }

    fn next(&mut self, env: &mut Env<'_>) {
        if self.left > 0 {
            env.calls.push(Message::Call { work: env.work });
        } else if let Some((op, delay)) = self.then.take() {
            env.timer(op, delay);
        }
    }
}

impl Env<'_> {
    /// A container starts, or one that has run before is there at once; [`Op::Started`] follows.
    pub(crate) fn start_container(&mut self, reuse: bool) -> RemoteCalls {
        let costs = &self.prepared.job.costs;
        let files = if *self.localised { 0 } else { costs.localisation_rpcs };
        let (n, delay) =
            if reuse { (0, Time::ZERO) } else { (files + costs.container_rpcs, costs.container_start) };
        let mut calls = RemoteCalls::default();
        calls.before(n, Op::Started, delay, self);
        calls
    }

    /// A task starts in its container, with the first half of its calls; [`Op::SetUp`] follows.
    pub(crate) fn set_up(&mut self, kind: Kind, calls: &mut RemoteCalls) {
        *self.localised = true;
        let n = self.rpcs(kind).div_ceil(2);
        calls.before(n, Op::SetUp, self.prepared.job.costs.task_setup, self);
    }

    /// A task commits its output, with the other half of its calls; [`Op::Committed`] follows.
    pub(crate) fn commit(&mut self, kind: Kind, calls: &mut RemoteCalls) {
        let n = self.rpcs(kind) / 2;
        calls.before(n, Op::Committed, self.prepared.job.costs.task_commit, self);
    }

    /// Calls that a task makes.
    fn rpcs(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Map => self.prepared.job.costs.map_rpcs,
            Kind::Reduce => self.prepared.job.costs.reduce_rpcs,
        }
    }
}
