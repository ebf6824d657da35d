//! Jobs, and what arrived for them.

use record::stored::{ReadError, Wanted, rows};
use serde::Serialize;
use std::path::Path;

/// A job.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Its name.
    pub job: String,
    /// What it does, as the scenario names it.
    pub kind: String,
    /// How it ended.
    pub outcome: String,
    /// When it began.
    pub start_ps: u64,
    /// When its work was done.
    pub end_ps: Option<u64>,
    /// Flows that it opened.
    pub flows: u64,
    /// Bytes that its receivers read, of streams and datagrams.
    pub bytes: u64,
}

/// The jobs of the run in a folder, in the order of their table.
///
/// # Errors
/// When a table is not there, can't be read, or is damaged.
pub fn jobs(run: &Path) -> Result<Vec<Job>, ReadError> {
    let mut jobs: Vec<Job> = Vec::new();
    let columns = [
        Wanted::Text("job"),
        Wanted::Text("kind"),
        Wanted::Text("outcome"),
        Wanted::Number("start_ps"),
        Wanted::Number("end_ps"),
        Wanted::Number("flows"),
        Wanted::Number("bytes"),
    ];
    rows(run, "jobs", columns, |[job, kind, outcome, start, end, flows, bytes]| {
        let (Some(job), Some(kind), Some(outcome)) = (job.text(), kind.text(), outcome.text()) else {
            return Err("a job has no name, kind or outcome");
        };
        jobs.push(Job {
            job: job.to_owned(),
            kind: kind.to_owned(),
            outcome: outcome.to_owned(),
            start_ps: start.count(),
            end_ps: end.number(),
            flows: flows.count(),
            bytes: bytes.count(),
        });
        Ok(())
    })?;
    rows(run, "datagrams", [Wanted::Text("job"), Wanted::Number("received_bytes")], |[name, bytes]| {
        if let Some(job) = jobs.iter_mut().find(|job| name.text() == Some(&job.job)) {
            job.bytes = job.bytes.saturating_add(bytes.count());
        }
        Ok(())
    })?;
    Ok(jobs)
}
