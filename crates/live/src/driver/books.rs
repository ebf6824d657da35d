//! What a member says of its run: how far it is, and what came of it.

use super::{Driver, Slot};
use crate::clock;
use crate::report::{End, JobRow, Progress, Report};
use crate::settings::Datagrams as Mode;
use units::Time;

impl Driver {
    pub(super) fn is_finished(&self) -> bool {
        self.slots.iter().all(|slot| slot.finished.is_some() || !slot.awaited)
    }

    pub(super) fn progress(&self, now: Time) -> Progress {
        Progress {
            host: self.host.0,
            time_ps: now.as_ps(),
            finished: self.is_finished(),
            cpu_ps: clock::to_time(sys::cpu::process_time()).as_ps(),
            streams: self.streams.count() as u64,
            counters: self.counters,
        }
    }

    pub(super) fn report(&mut self, cpu: Time) -> Report {
        let job = |slot: &Slot| JobRow {
            job: slot.job,
            start_ps: slot.start.as_ps(),
            end_ps: slot.finished.map(Time::as_ps),
        };
        let jobs = self.slots.iter().map(job).collect();
        let (streams, world) = self.world();
        let (flows, far_ends, flows_not_kept) = streams.finish(&world);
        let flow_samples = streams.sampler.take();
        let datagrams = match self.settings.datagrams {
            Mode::Segmented if !self.datagrams.joins() => Mode::Batched,
            mode => mode,
        };
        Report {
            host: self.host.0,
            end: self.end.unwrap_or(End::Interrupted),
            datagrams,
            time_ps: self.time().as_ps(),
            cpu_ps: cpu.as_ps(),
            counters: self.counters,
            jobs,
            flows,
            far_ends,
            flow_samples,
            flows_not_kept,
            datagram_rows: self.datagrams.rows(),
            tasks: self.tasks.close(),
        }
    }
}
