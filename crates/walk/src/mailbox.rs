//! Changes of the graph from outside while walks run: the driver of a server puts them in, from any thread,
//! and the server takes them out between two events. So no walker sees half of a batch.
//!
//! Changes that are known before the run are part of the set-up ([`crate::server::ServerSetup::changes`]).

use crate::territory::TimedChanges;
use std::sync::{Mutex, PoisonError};
use units::Time;

/// How often a server looks into its mailbox.
pub const LOOK: Time = Time::from_ms(5);

/// Where changes wait for their server.
#[derive(Debug, Default)]
pub struct Mailbox(Mutex<Vec<TimedChanges>>);

impl Mailbox {
    /// Leaves a batch. It is applied when its time has come, at once if that is over.
    pub fn put(&self, changes: TimedChanges) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(changes);
    }

    pub(crate) fn take(&self) -> Vec<TimedChanges> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
