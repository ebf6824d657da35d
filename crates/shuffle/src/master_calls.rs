//! The application master's own remote calls, one after the other.
//!
//! It runs in a container on a compute node, so each of its calls crosses that node's link. The master of the
//! model is on a host of its own: it asks the node, and the node answers. What is called, and what it says,
//! is left out.

use process::HostId;
use units::Time;

/// Calls under way, and what follows them.
#[derive(Debug, Default)]
pub(crate) struct MasterCalls {
    /// Where the application master runs; nowhere while no node is registered.
    node: Option<HostId>,
    /// Not yet answered.
    left: u32,
    /// The timer that the last answer sets.
    then: Option<(u64, Time)>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Call by way of this node.
    Call(HostId),
    /// All calls are answered: set this timer.
    Timer(u64, Time),
    /// An answer or a node is waited for.
    Wait,
}

impl MasterCalls {
    /// Begins `n` calls, and after them the timer `token` by `delay`. `first` is the first node that is
    /// there.
    pub(crate) fn before(&mut self, n: u32, token: u64, delay: Time, first: Option<HostId>) -> Next {
        (self.left, self.then) = (n, Some((token, delay)));
        self.node = self.node.or(first);
        self.next()
    }

    /// A node has answered.
    pub(crate) fn answered(&mut self, by: HostId) -> Next {
        if self.node != Some(by) || self.left == 0 {
            return Next::Wait;
        }
        self.left -= 1;
        self.next()
    }

    /// A node has come.
    pub(crate) fn registered(&mut self, host: HostId) -> Next {
        if self.node.is_some() || self.then.is_none() {
            return Next::Wait;
        }
        self.node = Some(host);
        self.next()
    }

    /// A node is gone: its call is made again by way of `first`, the first that is left.
    pub(crate) fn lost(&mut self, host: HostId, first: Option<HostId>) -> Next {
        if self.node != Some(host) {
            return Next::Wait;
        }
        self.node = first;
        if self.left > 0 { self.next() } else { Next::Wait }
    }

    fn next(&mut self) -> Next {
        match (self.left, self.node) {
            (0, _) => self.then.take().map_or(Next::Wait, |(token, delay)| Next::Timer(token, delay)),
            (_, Some(node)) => Next::Call(node),
            (_, None) => Next::Wait,
        }
    }
}
