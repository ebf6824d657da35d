//! Remote calls that a container or a task makes one after the other, each when the last one is answered:
//! connections and their authentication, the umbilical, the NameNode's metadata.
//!
//! Who waits for calls waits for as many round trips to the master: a queue on the way costs its delay for each.
//! What they ask for, and the time of the master, are left out.

use crate::env::{Env, Op};
use crate::wire::Message;
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
