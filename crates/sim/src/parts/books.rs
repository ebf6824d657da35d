//! What concerns the whole of a run in parts: its controls, its jobs, what was recorded, when it ends.

use crate::job::Job;
use crate::key::{Kind, key, mixed};
use crate::parts::hall::{Guards, Hall, lock};
use crate::parts::join::sample_flows;
use crate::records::{FlowRecord, Records, TaskRecord};
use crate::run::{Control, Pause, Sim};
use crate::stall::{Seen, Stall, next_look};
use fabric::Fabric;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use units::Time;

/// What concerns the whole.
pub(crate) struct Books {
    /// The controls of the run, and when.
    pub controls: BinaryHeap<Reverse<(Time, u32)>>,
    ahead: Time,
    grain: Time,
    until: Time,
    stop: Time,
    winds_up: bool,
    pub now: Time,
    pub events: u64,
    /// Events of all parts, when they met last.
    pub events_of_parts: u64,
    pub fingerprint: u64,
    pub flows: u32,
    pub jobs: Vec<JobBook>,
    pub jobs_left: usize,
    pub stall: Stall,
    pub records: Kept,
}

/// What was recorded since it was last asked for.
#[derive(Default)]
pub(crate) struct Kept {
    /// Flows, and when they were released.
    pub flows: Vec<(Time, FlowRecord)>,
    pub tasks: Vec<TaskRecord>,
    pub others: Records,
}

/// A job of all parts.
pub(crate) struct JobBook {
    pub unfinished: usize,
    /// When the last process so far was done.
    pub last: Time,
    pub end: Option<Time>,
    pub background: bool,
}

impl Books {
    pub(crate) fn new(sim: &Sim, ahead: Time) -> Books {
        let book = |job: &Job| JobBook {
            unfinished: job.unfinished,
            last: Time::ZERO,
            end: None,
            background: job.background,
        };
        Books {
            controls: BinaryHeap::new(),
            ahead,
            grain: sim.grain,
            until: sim.until,
            stop: sim.until,
            winds_up: false,
            now: Time::ZERO,
            events: 0,
            events_of_parts: 0,
            fingerprint: 0,
            flows: 0,
            jobs: sim.jobs.iter().map(book).collect(),
            jobs_left: sim.jobs_left,
            stall: sim.stall.clone(),
            records: Kept::default(),
        }
    }

    /// All parts meet: what has to be done before they run on; why the run pauses, if it does.
    pub(crate) fn turn(&mut self, hall: &Hall, target: u64) -> Option<Pause> {
        let desk = &hall.desk;
        if desk.has_news() {
            self.meet(&mut lock(&hall.sims));
        }
        self.now = self.now.max(desk.now());
        self.events_of_parts = desk.events();
        loop {
            // Samples of a network in which nothing happens count too.
            if self.events_of_parts + self.events >= target {
                return Some(Pause::Running);
            }
            let (event, control) = (desk.first(), self.controls.peek().map(|Reverse(control)| *control));
            let next = event.min(control.map_or(Time::MAX, |(at, _)| at));
            if next == Time::MAX {
                return Some(self.out_of_events());
            }
            if next > self.stop {
                return Some(self.at_stop());
            }
            match control {
                Some((at, index)) if at <= event => {
                    self.controls.pop();
                    let mut guards = lock(&hall.sims);
                    hall.deliver_all(&mut guards);
                    self.control(&mut guards, at, index);
                    for (sim, report) in guards.iter_mut().zip(&desk.reports) {
                        report.write(sim, Time::MAX);
                    }
                }
                _ => {
                    let next = next.as_ps();
                    let mut end = next.saturating_add(self.ahead.as_ps() - 1).min(self.stop.as_ps());
                    end = end.min(next.next_multiple_of(self.grain.as_ps()));
                    // The next look may not be known yet.
                    end = end.min(next_look(Time::from_ps(next)).as_ps() - 1);
                    if let Some((at, _)) = control {
                        end = end.min(at.as_ps() - 1);
                    }
                    desk.end.store(end, Ordering::Release);
                    return None;
                }
            }
        }
    }

    /// Nothing will ever happen again.
    fn out_of_events(&mut self) -> Pause {
        match (self.jobs_left, self.winds_up) {
            (0, true) => self.at_stop(),
            (0, false) => Pause::Finished,
            _ => Pause::Idle,
        }
    }

    fn at_stop(&mut self) -> Pause {
        let finished = std::mem::take(&mut self.winds_up);
        self.now = self.stop;
        self.stop = self.until;
        match (finished, self.stall.is_end) {
            (true, _) => Pause::Finished,
            (false, true) => Pause::Deadlock,
            (false, false) => Pause::Until,
        }
    }

    /// A job starts, a fault strikes or samples are taken: in all parts.
    fn control(&mut self, sims: &mut Guards<'_>, at: Time, index: u32) {
        self.now = at;
        self.events += 1;
        self.fingerprint = self.fingerprint.wrapping_add(mixed(at, key(Kind::Control, index)));
        let control = sims[0].controls[index as usize];
        let is_sample = matches!(control, Control::Sample);
        if let Control::Start(job) = control
            && self.jobs[job as usize].unfinished == 0
        {
            // Nobody takes part: chance has drawn no flow.
            self.finish_job(job, at);
        }
        if is_sample {
            self.report_losses(sims);
        }
        sims.iter_mut().for_each(|sim| sim.net.now = at);
        if matches!(control, Control::Deadlocks) {
            return self.look_for_deadlock(sims, at);
        }
        sims.iter_mut().for_each(|sim| sim.do_control(index));
        self.meet(sims);
        if is_sample {
            self.keep_samples(sims, at);
            if sims.iter_mut().any(|sim| sim.first() < Time::MAX) || !self.controls.is_empty() {
                let interval = sims[0].sampler.interval.expect("sampling has an interval");
                self.controls.push(Reverse((at.saturating_add(interval), index)));
            }
        }
        self.records.others.events.append(&mut sims[0].records.events);
        sims.iter_mut().for_each(|sim| sim.records.events.clear());
    }

    /// Looks for a deadlock, as [`Sim::look_for_deadlock`] does.
    fn look_for_deadlock(&mut self, sims: &mut Guards<'_>, now: Time) {
        sims.iter_mut().for_each(|sim| sim.stall.pending = false);
        let fabrics: Vec<_> = sims.iter().map(|sim| &sim.net.fabric).collect();
        let of = &sims[0].part.as_ref().expect("a part").of;
        let deadlock = Fabric::deadlock_of(&fabrics, |node| usize::from(of[node.0 as usize]));
        let seen = Seen {
            is_watched: deadlock.as_ref().is_some_and(|deadlock| sims[0].is_watched(deadlock)),
            received: deadlock.as_ref().map_or(0, |_| sims.iter().map(|sim| sim.received_by_jobs()).sum()),
            computes: sims.iter().any(|sim| sim.computes()),
            deadlock,
        };
        if let Some(deadlock) = self.stall.see(now, seen) {
            let place = sims[0].describe_cycle(&deadlock);
            self.records.others.events.push((now, "pfc-deadlock", place));
        }
        if self.stall.is_end {
            (self.until, self.stop) = (now, now);
        }
    }

    fn keep_samples(&mut self, sims: &mut Guards<'_>, at: Time) {
        let mut samples: Vec<Records> = sims.iter_mut().map(|sim| std::mem::take(&mut sim.records)).collect();
        if sims[0].sampler.flows {
            samples[0].flow_samples.append(&mut sample_flows(sims, at));
        }
        self.records.others.add_samples(samples);
    }

    /// What was lost on links between parts is counted where they begin.
    pub(crate) fn report_losses(&self, sims: &mut Guards<'_>) {
        for part in 0..sims.len() {
            let known = sims[part].part.as_ref().expect("a part");
            let cut = known.cut.iter().map(|port| (*port, usize::from(known.there[port.index()])));
            for (port, there) in cut.collect::<Vec<_>>() {
                let [sender, receiver] = sims.get_disjoint_mut([part, there]).expect("two parts");
                receiver.net.fabric.report_losses(port, &mut sender.net.fabric);
            }
        }
    }

    /// A job is over: the run ends with the last of them.
    pub(crate) fn finish_job(&mut self, job: u32, at: Time) {
        let book = &mut self.jobs[job as usize];
        if book.background {
            return;
        }
        book.end = Some(at);
        self.jobs_left -= 1;
        if self.jobs_left == 0 {
            let last = self.jobs.iter().filter_map(|job| job.end).max().expect("one has ended");
            self.winds_up = true;
            self.stop = self.until.min(Time::from_ps(last.as_ps().next_multiple_of(self.grain.as_ps())));
        }
    }
}
