//! What pacing remembers of a connection; `tcp/pacing.rs` acts on it.

use units::Time;

/// When the next segment may go out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    pub next: Time,
    /// The connection's probe timer, while the deadline of pacing may stand in for it.
    pub probe_at: Time,
    /// What was put in the timer's place.
    pub shown: Time,
}
