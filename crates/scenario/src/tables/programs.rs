//! From what programs on remote memory show of themselves to the tables `programs` and `faults`.

use super::jobs::Lost;
use crate::build::farmem::{ProgramShown, Shown};
use farmem::pager::{Fault, Outcome};
use record::rows::{self, ProgramOutcome};
use record::{Error, Tables};
use units::Time;

/// The programs of all jobs.
pub(super) struct ProgramTables(pub(super) Vec<Shown>);

impl ProgramTables {
    /// Writes the faults since the last call.
    pub(super) fn faults(&self, tables: &mut Tables, jobs: &[String], hosts: &[String]) -> Result<(), Error> {
        for (job, program) in self.all() {
            for fault in program.board.take_faults() {
                let Fault { start, end, page, fetched, written_back } = fault;
                tables.faults.push(rows::PageFault {
                    start_ps: start.as_ps(),
                    job: &jobs[job],
                    host: &hosts[program.host.0 as usize],
                    page,
                    latency_ps: end.saturating_sub(start).as_ps(),
                    fetched: fetched.into(),
                    written_back: written_back.into(),
                })?;
            }
        }
        Ok(())
    }

    /// Writes what each program came to; returns the jobs with a program whose memory was lost.
    pub(super) fn totals(
        &self,
        tables: &mut Tables,
        jobs: &[String],
        hosts: &[String],
    ) -> Result<Lost, Error> {
        let mut lost = Lost::new();
        for (job, program) in self.all() {
            let totals = program.board.totals();
            let counts = &totals.counts;
            if totals.outcome == Outcome::Lost {
                lost.insert(job);
            }
            tables.programs.push(rows::RemoteProgram {
                job: &jobs[job],
                host: &hosts[program.host.0 as usize],
                memory: &hosts[program.memory.0 as usize],
                outcome: match totals.outcome {
                    Outcome::Finished => ProgramOutcome::Finished,
                    Outcome::Lost => ProgramOutcome::Lost,
                    Outcome::Unfinished => ProgramOutcome::Unfinished,
                },
                page_bytes: program.page.get(),
                pages: program.pages,
                local_pages: program.local_pages,
                all_local_ps: program.all_local.as_ps(),
                start_ps: totals.begin.map(Time::as_ps),
                end_ps: totals.end.map(Time::as_ps),
                stall_ps: totals.stall.as_ps(),
                accesses: counts.accesses(),
                hits: counts.hits,
                cold: counts.cold,
                faults: counts.faults,
                fetched: counts.fetched,
                requests: counts.requests,
                written_back: counts.written_back,
                sends: counts.sends,
                received_bytes: totals.received_bytes,
                sent_bytes: totals.sent_bytes,
                restarts: totals.restarts,
            })?;
        }
        Ok(lost)
    }

    fn all(&self) -> impl Iterator<Item = (usize, &ProgramShown)> {
        self.0.iter().flat_map(|shown| shown.programs.iter().map(move |program| (shown.job, program)))
    }
}
