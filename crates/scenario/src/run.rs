//! Running a scenario: into a folder, for its figures alone, or against another run.

use crate::build::{Built, build, build_shown};
use crate::emulate::{self, Emulation, Exited, Linux, Operator};
use crate::engine::Engine;
use crate::error::Error;
use crate::lab::Scenario;
use crate::names::PortNames;
use crate::tables::Writer;
use emu::real::Lateness;
use fabric::QueueId;
use record::RunFolder;
use serde::Serialize;
use sim::{Divergence, Pause, Sim};
use std::num::NonZeroUsize;
use std::path::Path;
use units::{Problem, Time};

/// Events between two looks at the outside world.
const SLICE: u64 = 1 << 16;
/// The same where guests have turns meanwhile.
const GUESTS_SLICE: u64 = 1 << 10;
/// Slices between two counts of what open flows have received: there may be a great many of them.
const COUNTED: u64 = 16;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Progress {
    /// Simulated time in picoseconds.
    pub sim_time_ps: u64,
    /// Events so far.
    pub events: u64,
    /// Packets that crossed a link, summed over links.
    pub packet_hops: u64,
    /// Jobs that have ended.
    pub jobs_done: usize,
    /// Jobs that the run waits for.
    pub jobs: usize,
    /// Flows that came to their end.
    pub flows_done: u64,
    /// Flows opened so far.
    pub flows: u64,
    /// Bytes that all jobs but background have received.
    pub bytes: u64,
    /// Part of the run that is done, where the scenario sets its end.
    pub fraction: Option<f64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// All jobs have ended.
    Finished,
    /// The time that the scenario sets was over.
    Until,
    /// Nothing would have happened any more, though jobs had not ended.
    Stuck,
    /// Queues that PFC has paused wait for each other for ever.
    Deadlock,
    /// It was stopped from outside.
    Interrupted,
}

/// What a run says of itself; everything else is in its tables.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Simulated time in picoseconds.
    pub sim_time_ps: u64,
    /// Events.
    pub events: u64,
    /// Packets that crossed a link, summed over links.
    pub packet_hops: u64,
    /// Equal for equal runs, in hexadecimal; empty where two runs are never equal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Version that ran it.
    pub version: &'static str,
    /// Queues that wait for each other by PFC at the end, if any do.
    pub deadlock: Option<Stuck>,
    /// Packets that would have crossed links, summed over links, in what was skipped because it went on as
    /// before, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_hops: Option<u64>,
    /// What computing costs on emulated hosts, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computing: Option<Computing>,
    /// The version of the Linux that emulated hosts have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linux: Option<String>,
    /// How late packets came to hosts on this machine's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
}

/// What computing costs on emulated hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computing {
    /// It takes no time.
    Free,
    /// On some of them it takes processor time: two runs differ.
    Charged,
    /// They are a part of this machine, on its clock.
    Real,
}

/// A deadlock of PFC.
#[derive(Clone, Debug, Serialize)]
pub struct Stuck {
    /// Paused queues, each of which waits for the next, the last for the first.
    pub cycle: Vec<StuckQueue>,
    /// Other paused queues that wait for these.
    pub behind: Vec<StuckQueue>,
}

/// A queue that can't send any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StuckQueue {
    /// The port that would send.
    pub port: String,
    /// 802.1p class.
    pub class: u8,
    /// Bytes that wait.
    pub bytes: u64,
}

/// Runs a scenario into the folder `out`. `progress` is called now and then; when it returns false the run
/// stops and keeps what was measured. `operator` asks emulated hosts for more than the scenario does. It
/// has so many `threads` at most, whatever its results: they are the same.
///
/// # Errors
/// A scenario that can't run (then no folder is made), or results that can't be written.
pub fn run(
    scenario: &Scenario,
    out: &Path,
    overwrite: bool,
    linux: &Linux,
    threads: NonZeroUsize,
    operator: Option<&mut Operator<'_>>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Error> {
    let Built { sim, shown, away } = build_shown(scenario)?;
    let emulated = emulate::is_needed(scenario);
    if emulated && scenario.clock.is_none() && linux.kernel.is_none() {
        return Err(Error::NoKernel);
    }
    let folder = RunFolder::create(out, overwrite)?;
    folder.write_scenario(scenario)?;
    let threads = if emulated { NonZeroUsize::MIN } else { threads };
    let mut engine = Engine::new(scenario, sim, threads);
    let mut writer = Writer::new(&mut engine.sim(), &folder, scenario, (shown, away.clone()))?;
    let total = engine.progress().jobs_left;
    let start = || Emulation::start(scenario, (&mut engine.sim(), away), linux, out);
    let mut guests = match emulated.then(start).transpose() {
        Ok(guests) => guests,
        // The tables are whole, though nothing is in them.
        Err(Error::Emulation(emu::Error::Stopped)) => {
            writer.finish(&mut engine.sim(), &[])?;
            return Ok(outcome(&mut engine.sim(), End::Interrupted));
        }
        Err(error) => {
            writer.finish(&mut engine.sim(), &[]).ok();
            return Err(error);
        }
    };
    let emulated = guests.as_mut().map(|guests| (guests, operator));
    let end = drive(&mut engine, emulated, scenario.until, total, progress, |engine, exited| {
        exited.iter().for_each(|exited| writer.exited(exited));
        let (now, records) = (engine.progress().now, engine.take_records());
        Ok(writer.write(engine.sim().network(), now, &records)?)
    });
    let mut sim = engine.into_whole();
    // A host in the middle of a turn can't report.
    let end = match end {
        Err(Error::Emulation(emu::Error::Stopped)) => {
            writer.finish(&mut sim, &[])?;
            return Ok(outcome(&mut sim, End::Interrupted));
        }
        end => end,
    };
    // What was measured is kept, whatever has ended the run.
    let reports = guests.as_mut().filter(|_| end.is_ok()).map(|guests| guests.reports(&mut sim)).transpose();
    let finished =
        writer.finish(&mut sim, reports.as_ref().ok().and_then(Option::as_deref).unwrap_or_default());
    let end = end?;
    reports?;
    finished?;
    let computing = guests.as_ref().map(Emulation::computing);
    let linux = guests.as_ref().and_then(Emulation::linux);
    let lateness = guests.and_then(|guests| guests.lateness());
    let found = outcome(&mut sim, end);
    let fingerprint = if lateness.is_some() { String::new() } else { found.fingerprint };
    Ok(Outcome { computing, linux, lateness, fingerprint, ..found })
}

/// Runs a scenario for its cost alone, on so many threads at most: nothing is written.
///
/// # Errors
/// A scenario that can't run.
pub fn measure(scenario: &Scenario, threads: NonZeroUsize) -> Result<Outcome, Problem> {
    let sim = build(scenario)?;
    let total = sim.progress().jobs_left;
    let mut engine = Engine::new(scenario, sim, threads);
    let end = drive(&mut engine, None, scenario.until, total, &mut |_| true, |engine, _| {
        drop(engine.take_records());
        Ok(())
    });
    Ok(outcome(&mut engine.into_whole(), end.expect("nothing is written and nobody is emulated")))
}

/// Runs two scenarios side by side; the first event that differs, if one does.
///
/// # Errors
/// A scenario that can't run.
pub fn diverge(
    first: &Scenario,
    second: &Scenario,
    going_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Divergence>, Problem> {
    Ok(sim::diverge(&mut build(first)?, &mut build(second)?, going_on))
}

fn drive(
    engine: &mut Engine,
    mut emulated: Option<(&mut Emulation, Option<&mut Operator<'_>>)>,
    until: Option<Time>,
    jobs: usize,
    progress: &mut dyn FnMut(&Progress) -> bool,
    mut keep: impl FnMut(&mut Engine, &[Exited]) -> Result<(), Error>,
) -> Result<End, Error> {
    let (mut bytes, mut slices) = (0, 0u64);
    loop {
        let (pause, exited) = match &mut emulated {
            Some((guests, operator)) => {
                let sim = &mut *engine.sim();
                if let Some(operator) = operator
                    && !guests.operate(sim, *operator)
                {
                    return Ok(End::Interrupted);
                }
                (guests.run(sim, GUESTS_SLICE)?, guests.take_exited())
            }
            None => (engine.run(SLICE), Vec::new()),
        };
        keep(engine, &exited)?;
        match pause {
            Pause::Running | Pause::Outward => {}
            Pause::Finished => return Ok(End::Finished),
            Pause::Until => return Ok(End::Until),
            Pause::Idle => return Ok(End::Stuck),
            Pause::Deadlock => return Ok(End::Deadlock),
        }
        if slices.is_multiple_of(COUNTED) {
            bytes = engine.received_by_jobs();
        }
        slices += 1;
        let now = engine.progress();
        let fraction = until.map(|until| now.now.as_ps() as f64 / until.as_ps().max(1) as f64);
        let told = Progress {
            sim_time_ps: now.now.as_ps(),
            events: now.events,
            packet_hops: now.packet_hops,
            jobs_done: jobs - now.jobs_left,
            jobs,
            flows_done: now.flows_done,
            flows: now.flows,
            bytes,
            fraction,
        };
        if !progress(&told) {
            return Ok(End::Interrupted);
        }
    }
}

fn deadlock(sim: &mut Sim) -> Option<Stuck> {
    let found = sim.deadlock()?;
    let graph = sim.graph().clone();
    let ports = PortNames::new(&graph, sim.network());
    let fabric = sim.network();
    let queue = |&(port, class): &QueueId| StuckQueue {
        port: ports[port].to_owned(),
        class,
        bytes: fabric.class_backlog(port, class).unwrap_or_default(),
    };
    let behind = found.stuck.iter().filter(|queue| !found.cycle.contains(queue));
    Some(Stuck { cycle: found.cycle.iter().map(queue).collect(), behind: behind.map(queue).collect() })
}

fn outcome(sim: &mut Sim, end: End) -> Outcome {
    let progress = sim.progress();
    Outcome {
        end,
        sim_time_ps: sim.ended().as_ps(),
        events: progress.events,
        packet_hops: progress.packet_hops,
        fingerprint: format!("{:016x}", progress.fingerprint),
        version: env!("CARGO_PKG_VERSION"),
        deadlock: deadlock(sim),
        skipped_hops: sim.skipped_hops(),
        computing: None,
        linux: None,
        lateness: None,
    }
}
