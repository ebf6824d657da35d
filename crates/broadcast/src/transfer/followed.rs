//! The coordinator that a node follows, and what it knows of others that may become it.

use process::{HostId, StreamId};
use units::Time;

/// The host that a node follows.
#[derive(Debug, Default)]
pub(super) struct Follow {
    /// The host that it tries, or follows.
    pub(super) host: Option<HostId>,
    pub(super) stream: Option<StreamId>,
    /// It has answered.
    pub(super) answered: bool,
    /// When a coordinator was last heard.
    pub(super) heard: Time,
    /// When the present one was tried first.
    pub(super) since: Time,
    /// The last that was tried.
    pub(super) tried: Option<HostId>,
    /// Hosts that have everything.
    pub(super) complete: Vec<HostId>,
    /// Times that one of all destinations was tried.
    pub(super) rounds: u32,
    /// The host that others named as the coordinator, to be tried next.
    pub(super) hint: Option<HostId>,
}

impl Follow {
    /// The coordinator, if it has answered.
    pub(super) fn trusted(&self) -> Option<HostId> {
        self.host.filter(|_| self.answered)
    }

    /// This host stood still for so long: silence during that time was its own.
    pub(super) fn stood_still(&mut self, time: Time) {
        self.heard = self.heard.saturating_add(time);
        self.since = self.since.saturating_add(time);
    }
}
