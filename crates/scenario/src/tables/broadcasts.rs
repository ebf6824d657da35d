//! From what the hosts of broadcasts show of themselves to the tables `broadcasts` and `broadcasts_series`.

use crate::build::broadcast::Shown;
use broadcast::transfer::{Progress, Receiver, Sample, State};
use process::HostId;
use record::rows::{self, CopyOutcome};
use record::{Error, Tables};
use std::collections::BTreeMap;
use units::Time;

/// The broadcasts of a run.
pub(super) struct BroadcastTables {
    /// With the sample before of each host.
    jobs: Vec<(Shown, BTreeMap<HostId, Sample>)>,
}

impl BroadcastTables {
    pub(super) fn new(shown: Vec<Shown>) -> BroadcastTables {
        BroadcastTables { jobs: shown.into_iter().map(|shown| (shown, BTreeMap::new())).collect() }
    }

    /// Writes the samples taken since the last call.
    pub(super) fn samples(
        &mut self,
        tables: &mut Tables,
        jobs: &[String],
        hosts: &[String],
    ) -> Result<(), Error> {
        for (shown, last) in &mut self.jobs {
            for (host, board) in &shown.nodes {
                for now in board.take_samples() {
                    let before = last.insert(*host, now).unwrap_or_default();
                    tables.broadcasts_series.push(rows::BroadcastSample {
                        time_ps: now.time.as_ps(),
                        job: &jobs[shown.job],
                        host: &hosts[host.0 as usize],
                        bytes: now.bytes,
                        received_bytes: now.received - before.received,
                        sent_bytes: now.sent - before.sent,
                        planned_bps: now.planned,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Writes how each host fared.
    pub(super) fn totals(&self, tables: &mut Tables, jobs: &[String], hosts: &[String]) -> Result<(), Error> {
        for (shown, _) in &self.jobs {
            // Who took the source's place last knows best who was there.
            let all = || shown.nodes.iter().map(|(host, board)| (*host, board.progress()));
            let seen = all().map(|(_, progress)| progress.receivers).rfind(|receivers| !receivers.is_empty());
            let seen = seen.unwrap_or_default();
            for (host, progress) in all() {
                let outcome = if host == shown.source && progress.resumed == progress.bytes {
                    CopyOutcome::Complete
                } else {
                    outcome(&progress, seen.get(&host))
                };
                let reason = match &progress.state {
                    State::Failed(reason) => Some(reason.as_str()),
                    _ => None,
                };
                tables.broadcasts.push(rows::BroadcastHost {
                    job: &jobs[shown.job],
                    host: &hosts[host.0 as usize],
                    outcome,
                    reason,
                    complete_ps: progress.completed.map(Time::as_ps),
                    bytes: progress.bytes,
                    resumed_bytes: progress.resumed,
                    received_bytes: progress.received,
                    sent_bytes: progress.sent,
                    damaged: progress.damaged,
                    plans: progress.plans.into(),
                })?;
            }
        }
        Ok(())
    }
}

/// How a host fared, by what it and the coordinator show.
fn outcome(progress: &Progress, seen: Option<&Receiver>) -> CopyOutcome {
    match progress.state {
        State::Failed(_) => CopyOutcome::Failed,
        _ if progress.completed.is_some() => CopyOutcome::Complete,
        _ if seen.is_some_and(|receiver| !receiver.present) => CopyOutcome::Gone,
        _ => CopyOutcome::Unfinished,
    }
}
