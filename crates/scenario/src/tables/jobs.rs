//! How a job ended: whether all of its work was done, as far as its kind can tell.

use record::rows::JobOutcome;
use std::collections::BTreeSet;

/// Jobs that have protocols of their own open a stream again when it breaks: their work does not depend on one.
const OPEN_AGAIN: [&str; 5] = ["shuffle", "walk", "broadcast", "mine", "farmem"];

/// What is known of a job at the end of a run.
pub(crate) struct Ended {
    /// All of its processes have ended.
    pub ended: bool,
    /// The run does not wait for it.
    pub background: bool,
    /// A flow was refused, reset or timed out.
    pub broken: bool,
    /// A receiver of a broadcast or a program on remote memory did not get what it was to get.
    pub lost: bool,
}

/// How a job of `kind` ended.
pub(crate) fn outcome(kind: &str, job: &Ended) -> JobOutcome {
    let gave_up = job.lost || (job.broken && !OPEN_AGAIN.contains(&kind));
    match job {
        Ended { background: true, .. } => JobOutcome::Background,
        Ended { ended: false, .. } => JobOutcome::Unfinished,
        _ if gave_up => JobOutcome::Failed,
        _ => JobOutcome::Finished,
    }
}

/// Jobs, by their index, of which a part was lost.
pub(crate) type Lost = BTreeSet<usize>;
