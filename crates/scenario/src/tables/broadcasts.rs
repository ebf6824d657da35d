//! From what the hosts of broadcasts show of themselves to the tables `broadcasts` and `broadcasts_series`.

use super::jobs::Lost;
use crate::build::broadcast::Shown;
use broadcast::transfer::{Progress, Sample, State};
use process::HostId;
use record::rows::{self, CopyOutcome};
use record::{Error, Tables};
use serde::{Deserialize, Serialize};
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
                    sample(tables, (&jobs[shown.job], &hosts[host.0 as usize]), &now, &before)?;
                }
            }
        }
        Ok(())
    }

    /// Writes how each host fared; returns the jobs with a host that did not get everything.
    pub(super) fn totals(
        &self,
        tables: &mut Tables,
        jobs: &[String],
        hosts: &[String],
    ) -> Result<Lost, Error> {
        let mut lost = Lost::new();
        for (shown, _) in &self.jobs {
            let all = shown.nodes.iter().map(|(host, board)| (*host, Fared::from(board.progress())));
            let all: Vec<(HostId, Fared)> = all.collect();
            let all: Vec<(HostId, &Fared)> = all.iter().map(|(host, fared)| (*host, fared)).collect();
            let names = (jobs[shown.job].as_str(), shown.source);
            if !totals(tables, names, &all, |host| &hosts[host.0 as usize])? {
                lost.insert(shown.job);
            }
        }
        Ok(lost)
    }
}

/// How a host fared, as far as it knows: plain data that can be sent between machines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fared {
    failed: Option<String>,
    completed: Option<Time>,
    bytes: u64,
    resumed: u64,
    received: u64,
    sent: u64,
    damaged: u64,
    plans: u32,
    /// Of a host that coordinated: hosts that it had given up.
    gone: Option<Vec<u32>>,
}

impl From<Progress> for Fared {
    fn from(progress: Progress) -> Fared {
        let receivers = &progress.receivers;
        let gone = || receivers.iter().filter(|(_, known)| !known.present).map(|(host, _)| host.0).collect();
        Fared {
            gone: (!receivers.is_empty()).then(gone),
            failed: if let State::Failed(reason) = progress.state { Some(reason) } else { None },
            completed: progress.completed,
            bytes: progress.bytes,
            resumed: progress.resumed,
            received: progress.received,
            sent: progress.sent,
            damaged: progress.damaged,
            plans: progress.plans,
        }
    }
}

/// Writes a sample of a host of a job, given the one before.
pub(crate) fn sample(
    tables: &mut Tables,
    (job, host): (&str, &str),
    now: &Sample,
    before: &Sample,
) -> Result<(), Error> {
    tables.broadcasts_series.push(rows::BroadcastSample {
        time_ps: now.time.as_ps(),
        job,
        host,
        bytes: now.bytes,
        received_bytes: now.received - before.received,
        sent_bytes: now.sent - before.sent,
        planned_bps: now.planned,
    })
}

/// Writes how all hosts of a job fared, the source first; returns whether all have everything.
pub(crate) fn totals<'a>(
    tables: &mut Tables,
    (job, source): (&str, HostId),
    all: &[(HostId, &Fared)],
    name: impl Fn(HostId) -> &'a str,
) -> Result<bool, Error> {
    let mut whole = true;
    // Who took the source's place last knows best who was there.
    let gone = all.iter().filter_map(|(_, fared)| fared.gone.as_deref()).next_back().unwrap_or_default();
    for (host, fared) in all {
        let has_it = *host == source && fared.resumed == fared.bytes;
        let outcome = match fared {
            _ if has_it => CopyOutcome::Complete,
            Fared { failed: Some(_), .. } => CopyOutcome::Failed,
            Fared { completed: Some(_), .. } => CopyOutcome::Complete,
            _ if gone.contains(&host.0) => CopyOutcome::Gone,
            _ => CopyOutcome::Unfinished,
        };
        whole &= outcome == CopyOutcome::Complete;
        tables.broadcasts.push(rows::BroadcastHost {
            job,
            host: name(*host),
            outcome,
            reason: fared.failed.as_deref(),
            complete_ps: fared.completed.map(Time::as_ps),
            bytes: fared.bytes,
            resumed_bytes: fared.resumed,
            received_bytes: fared.received,
            sent_bytes: fared.sent,
            damaged: fared.damaged,
            plans: fared.plans.into(),
        })?;
    }
    Ok(whole)
}
