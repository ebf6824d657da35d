//! Programs of a scenario on emulated hosts: the guests that they need, and what becomes of them.

use crate::error::Error;
use crate::kinds::Work;
use crate::lab::Scenario;
use crate::lab::hosts;
use crate::names::Names;
use emu::guest::Guest;
use emu::host::{Event, Host, INIT, Program};
use emu::{Lab, setting};
use process::{HostId, Hosts};
use sim::{Pause, Sim};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use sys::cpu::Pinned;
use units::{Problem, Time};

/// A guest that computes for longer than this without waiting is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// The folder of guests in a run's folder.
const FOLDER: &str = "guests";

/// A program that has exited.
pub(crate) struct Exited {
    pub job: usize,
    pub host: HostId,
    pub at: Time,
    pub code: i32,
}

/// The guests of a run.
pub(crate) struct Emulation {
    lab: Lab,
    hosts: Vec<Host>,
    /// The job of each program, by its number.
    programs: Vec<(usize, HostId)>,
    exited: Vec<Exited>,
    /// One of them runs at a time: on one processor none waits for its memory to come from another's cache.
    _pinned: Pinned,
}

/// Whether a scenario has programs.
pub(crate) fn is_needed(scenario: &Scenario) -> bool {
    scenario.jobs.iter().any(|job| matches!(job.work, Work::Program(_)))
}

/// Whether it has programs on this host.
pub(crate) fn runs_programs(scenario: &Scenario, host: &str) -> bool {
    let on_host = |work: &Work| matches!(work, Work::Program(work) if work.hosts.iter().any(|at| at == host));
    scenario.jobs.iter().any(|job| on_host(&job.work))
}

/// The guests that a scenario's programs need.
struct Plan {
    hosts: Vec<Host>,
    /// The job and host of each program, by its number.
    programs: Vec<(usize, HostId)>,
}

fn plan(scenario: &Scenario, sim: &Sim) -> Result<Plan, Problem> {
    let graph = sim.graph();
    let (configs, names) = (hosts::all(&scenario.hosts, scenario.seed, graph)?, Names::new(graph));
    let (mut planned, mut programs) = (BTreeMap::new(), Vec::new());
    for (index, job) in scenario.jobs.iter().enumerate() {
        let Work::Program(work) = &job.work else { continue };
        for name in &work.hosts {
            let id = names.find(name).map_err(|error| Problem::new(("jobs", index), error))?;
            let config = &configs[id.0 as usize];
            let host = planned.entry(id).or_insert_with(|| setting::host(id, name, config));
            host.programs.push(Program {
                number: programs.len(),
                start: job.start,
                command: work.command.clone(),
                environment: work.environment.clone().into_iter().collect(),
                output: format!("{}.out", job.name),
            });
            programs.push((index, id));
        }
    }
    Ok(Plan { hosts: planned.into_values().collect(), programs })
}

impl Emulation {
    /// Boots the guests of a scenario, each in a folder of its own within the run's.
    ///
    /// # Errors
    /// A kernel that does not do, or a folder that can't be used.
    pub(crate) fn start(
        scenario: &Scenario,
        sim: &mut Sim,
        kernel: &Path,
        run: &Path,
    ) -> Result<Emulation, Error> {
        let Plan { hosts, programs } = plan(scenario, sim)?;
        let pinned = Pinned::here().map_err(emu::Error::Start)?;
        let all = run.join(FOLDER);
        match std::fs::remove_dir_all(&all) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(emu::Error::Folder { path: all, error }.into());
            }
            _ => {}
        }
        let mut guests = Vec::with_capacity(hosts.len());
        for host in &hosts {
            let folder = all.join(&host.name);
            let at = |error| emu::Error::Folder { path: folder.clone(), error };
            std::fs::create_dir_all(&folder).map_err(at)?;
            std::fs::write(folder.join(INIT), host.init()).map_err(at)?;
            let begin = host.begin(kernel.to_owned(), scenario.seed);
            guests.push((host.id, Guest::start(&host.name, &begin, &folder, host.card(), PATIENCE)?));
        }
        let lab = Lab::new(sim, guests)?;
        let mut emulation = Emulation { lab, hosts, programs, exited: Vec::new(), _pinned: pinned };
        emulation.listen(sim)?;
        Ok(emulation)
    }

    /// Runs up to `events` events.
    ///
    /// # Errors
    /// A guest that can't go on.
    pub(crate) fn run(&mut self, sim: &mut Sim, events: u64) -> Result<Pause, Error> {
        let pause = self.lab.run(sim, events)?;
        self.listen(sim)?;
        Ok(pause)
    }

    /// Programs that have exited since the last call.
    pub(crate) fn take_exited(&mut self) -> Vec<Exited> {
        std::mem::take(&mut self.exited)
    }

    fn listen(&mut self, sim: &mut Sim) -> Result<(), Error> {
        for (host, event) in self.lab.take_events() {
            match event {
                Event::Unready => {
                    return Err(emu::Error::Unready { name: self.host(host).name.clone() }.into());
                }
                Event::Refused(number) => {
                    let host = self.host(host);
                    let (key, value) = host.sysctl.get(number).cloned().unwrap_or_default();
                    return Err(emu::Error::Setting { name: host.name.clone(), key, value }.into());
                }
                // A guest may say anything: only of its own programs is it believed.
                Event::Ended(number, code) => {
                    if let Some(&(job, at)) = self.programs.get(number).filter(|(_, at)| *at == host) {
                        sim.finish(job, at);
                        self.exited.push(Exited { job, host, at: sim.progress().now, code });
                    }
                }
            }
        }
        match self.lab.ended().next() {
            Some(host) if self.waits_for(sim, host) => {
                Err(emu::Error::Gone { name: self.host(host).name.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    fn host(&self, id: HostId) -> &Host {
        self.hosts.iter().find(|host| host.id == id).expect("only these have guests")
    }

    /// Whether the run waits for a program of this host.
    fn waits_for(&self, sim: &Sim, host: HostId) -> bool {
        let jobs = sim.job_records();
        self.programs.iter().any(|(job, at)| *at == host && jobs[*job].end.is_none())
    }
}
