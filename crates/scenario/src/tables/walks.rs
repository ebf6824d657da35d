//! From what walk servers show of themselves to the tables `walks` and `walks_series`.

use super::jobs::Lost;
use crate::build::walk::Shown;
use record::{Error, Tables, rows};
use walk::counters::{Sample, Totals};

/// The servers of all jobs.
pub(super) struct WalkTables {
    /// With the counters as they were at the sample before.
    servers: Vec<(Shown, Totals)>,
}

impl WalkTables {
    pub(super) fn new(shown: Vec<Shown>) -> WalkTables {
        WalkTables { servers: shown.into_iter().map(|shown| (shown, Totals::default())).collect() }
    }

    /// Writes the samples taken since the last call.
    pub(super) fn samples(
        &mut self,
        tables: &mut Tables,
        jobs: &[String],
        hosts: &[String],
    ) -> Result<(), Error> {
        for (shown, before) in &mut self.servers {
            let server = Server::of(shown, jobs, hosts);
            for now in shown.board.take_samples() {
                server.sample(tables, &now, before)?;
                *before = now.totals;
            }
        }
        Ok(())
    }

    /// Writes what the servers have counted in all; returns the jobs of which walks were given up.
    pub(super) fn totals(
        &self,
        tables: &mut Tables,
        jobs: &[String],
        hosts: &[String],
    ) -> Result<Lost, Error> {
        let mut lost = Lost::new();
        for (shown, _) in &self.servers {
            let server = Server::of(shown, jobs, hosts);
            let totals = shown.board.counters.totals();
            server.totals(tables, &totals)?;
            if totals.given_up > 0 {
                lost.insert(shown.job);
            }
        }
        Ok(lost)
    }
}

/// A server's place in the tables.
pub(crate) struct Server<'a> {
    pub job: &'a str,
    pub host: &'a str,
    pub nodes: u32,
}

impl<'a> Server<'a> {
    fn of(shown: &Shown, jobs: &'a [String], hosts: &'a [String]) -> Server<'a> {
        Server { job: &jobs[shown.job], host: &hosts[shown.host.0 as usize], nodes: shown.nodes }
    }

    /// A sample, with the counters as they were at the one before.
    pub(crate) fn sample(&self, tables: &mut Tables, now: &Sample, before: &Totals) -> Result<(), Error> {
        // A server that has crashed counts its finished walks anew.
        let since = |of: fn(&Totals) -> u64| of(&now.totals).saturating_sub(of(before));
        tables.walks_series.push(rows::WalkSample {
            time_ps: now.time.as_ps(),
            job: self.job,
            host: self.host,
            queue: now.queue,
            queue_max: now.queue_max,
            timeout_ps: now.timeout.as_ps(),
            generated: since(|t| t.generated),
            finished: since(|t| t.finished),
            steps: since(|t| t.steps),
            arrived: since(|t| t.arrived),
            served: since(|t| t.served),
            drops_early: since(|t| t.drops_early),
            drops_forced: since(|t| t.drops_forced),
            drops_full: since(|t| t.drops_full),
            drops_wait: since(|t| t.drops_wait),
            drops_own: since(|t| t.drops_own),
            lost_timeout: since(|t| t.lost_timeout),
            lost_direct: since(|t| t.lost_direct),
            sleeps: since(|t| t.sleeps),
        })
    }

    /// What it has counted in all.
    pub(crate) fn totals(&self, tables: &mut Tables, totals: &Totals) -> Result<(), Error> {
        tables.walks.push(rows::WalkServer {
            job: self.job,
            host: self.host,
            nodes: self.nodes.into(),
            finished_ps: (totals.finished_ps > 0).then_some(totals.finished_ps),
            required: totals.required,
            generated: totals.generated,
            additional: totals.additional,
            finished: totals.finished,
            given_up: totals.given_up,
            late: totals.late,
            again: totals.again,
            lost_timeout: totals.lost_timeout,
            lost_direct: totals.lost_direct,
            lost_remote: totals.lost_remote,
            loss_checks: totals.loss_checks,
            sleeps: totals.sleeps,
            arrived: totals.arrived,
            served: totals.served,
            steps: totals.steps,
            drops_early: totals.drops_early,
            drops_forced: totals.drops_forced,
            drops_full: totals.drops_full,
            drops_wait: totals.drops_wait,
            drops_own: totals.drops_own,
            sent_datagrams: totals.sent_datagrams,
            sent_bytes: totals.sent_bytes,
            received_datagrams: totals.received_datagrams,
            refused_datagrams: totals.refused_datagrams,
            refused_strangers: totals.refused_strangers,
            refused_records: totals.refused_records,
            refused_changes: totals.refused_changes,
            refused_snapshots: totals.refused_snapshots,
            restarts: totals.restarts,
            restored: totals.restored,
        })
    }
}
