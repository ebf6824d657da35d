//! Emulated hosts of a scenario: the guests that it needs, and what becomes of what runs on them.

mod guests;
mod members;

use crate::error::Error;
use crate::lab::{Clock, Scenario};
use crate::reports::MemberReport;
use crate::run::Computing;
use emu::host::{Event, Host, NAMES, NO_SERVER, address, names};
use emu::real::Lateness;
use emu::setting::Registered;
use emu::{Exact, Lab, Real, ip};
pub use guests::is_needed;
pub(crate) use guests::{Away, computes_at_once, has_members, take_away};
use guests::{Guests, Task, crashes};
pub use members::member;
use process::HostId;
use sim::{Pause, Sim};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sys::cpu::Pinned;
use units::Time;

/// The folder of guests in a run's folder.
const FOLDER: &str = "guests";
/// A datagram there says that an operator has asked for something.
const ASKED: u16 = 10;
/// When a run is over, the processes of jobs have so much time to report.
const LAST_WORDS: Time = Time::from_secs(1);

/// What emulated hosts are made of.
#[derive(Clone, Debug, Default)]
pub struct Linux {
    /// The kernel's program, for hosts in virtual time.
    pub kernel: Option<PathBuf>,
    /// What the shell is to run for a host's processes: a program that calls [`member`] with the folder that
    /// is its last argument.
    pub member: String,
    /// What the run has registered with this machine's kernel, for hosts on its clock.
    pub registered: Vec<Registered>,
    /// Folders that hosts see even where they have folders of their own.
    pub seen: Vec<PathBuf>,
    /// The run goes on: a host that computes is not waited for any longer once it does not.
    pub going_on: Arc<AtomicBool>,
}

/// What an operator asked of a host is done.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The host.
    pub host: String,
    /// The number of what was asked.
    pub number: usize,
    /// Exit code.
    pub code: i32,
}

/// Asks emulated hosts to do something while a run's time stands still. It is told the time and what has been
/// answered since it was told last, and says which hosts have something to read, or nothing to end the run.
pub type Operator<'a> = dyn FnMut(Time, Vec<Answer>) -> Option<Vec<String>> + 'a;

/// A program that has exited.
pub(crate) struct Exited {
    pub job: usize,
    pub host: HostId,
    pub at: Time,
    pub code: i32,
}

/// The guests of a run.
pub(crate) struct Emulation {
    lab: Box<dyn Lab>,
    hosts: Vec<Host>,
    /// By number.
    tasks: Vec<(Task, HostId)>,
    away: Away,
    /// All guests' folders.
    folder: PathBuf,
    exited: Vec<Exited>,
    answers: Vec<Answer>,
    /// Of guests one runs at a time: on one processor none waits for its memory to come from another's cache.
    _pinned: Option<Pinned>,
}

impl Emulation {
    /// Boots the guests of a scenario, each in a folder of its own within the run's.
    ///
    /// # Errors
    /// A kernel that does not do, or a folder that can't be used.
    pub(crate) fn start(
        scenario: &Scenario,
        (sim, away): (&mut Sim, Away),
        linux: &Linux,
        run: &Path,
    ) -> Result<Emulation, Error> {
        let (lab, pinned): (Box<dyn Lab>, _) = match (scenario.clock, &linux.kernel) {
            (Some(Clock::Real { scale, late }), _) => {
                let real = Real::new(scale, Duration::from_nanos(late.as_ps() / 1000));
                (Box::new(real.map_err(emu::Error::Here)?), None)
            }
            (None, Some(kernel)) => {
                let pinned = Pinned::here().map_err(emu::Error::Start)?;
                let going_on = Arc::clone(&linux.going_on);
                (Box::new(Exact::new(kernel.clone(), scenario.seed, going_on)), Some(pinned))
            }
            (None, None) => return Err(Error::NoKernel),
        };
        let Guests { hosts, tasks } = Guests::of(scenario, sim.graph(), &away, linux)?;
        let all = run.join(FOLDER);
        match std::fs::remove_dir_all(&all) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(emu::Error::Folder { path: all, error }.into());
            }
            _ => {}
        }
        let known = names(sim.graph().names().take(sim.graph().hosts()));
        let telling = members::Telling::of(scenario, &away)?;
        for host in &hosts {
            let folder = all.join(&host.name);
            let at = |error| emu::Error::Folder { path: folder.clone(), error };
            std::fs::create_dir_all(&folder).map_err(at)?;
            for (name, text) in NAMES.into_iter().zip([&known, NO_SERVER]) {
                std::fs::write(folder.join(name), text).map_err(at)?;
            }
            for program in &host.programs {
                if tasks[program.number].0 == Task::Member {
                    telling.tell(program.number, host.id, &folder)?;
                }
            }
        }
        let mut emulation = Emulation {
            lab,
            hosts,
            tasks,
            away,
            folder: all,
            exited: Vec::new(),
            answers: Vec::new(),
            _pinned: pinned,
        };
        emulation.lab.start(sim, &emulation.hosts.iter().collect::<Vec<_>>(), &emulation.folder)?;
        for (at, host) in crashes(scenario, sim.graph())? {
            sim.wake_at(host, at);
        }
        emulation.listen(sim)?;
        Ok(emulation)
    }

    /// Runs up to `events` events.
    ///
    /// # Errors
    /// A guest that can't go on.
    pub(crate) fn run(&mut self, sim: &mut Sim, events: u64) -> Result<Pause, Error> {
        let pause = self.lab.run(sim, events)?;
        for id in self.lab.take_restarted() {
            let host = self.hosts.iter().find(|host| host.id == id).expect("only these have guests");
            self.lab.start(sim, &[host], &self.folder)?;
        }
        self.listen(sim)?;
        Ok(pause)
    }

    /// Programs that have exited since the last call.
    pub(crate) fn take_exited(&mut self) -> Vec<Exited> {
        std::mem::take(&mut self.exited)
    }

    /// What computing costs.
    pub(crate) fn computing(&self) -> Computing {
        let charged = self.hosts.iter().any(|host| host.cpu_rate.is_some());
        match self.lab.lateness() {
            Some(_) => Computing::Real,
            None if charged => Computing::Charged,
            None => Computing::Free,
        }
    }

    /// Which Linux the hosts have, if that is known.
    pub(crate) fn linux(&self) -> Option<String> {
        self.lab.linux()
    }

    /// How late packets came, where that can be.
    pub(crate) fn lateness(&self) -> Option<Lateness> {
        self.lab.lateness()
    }

    /// Lets an operator ask for something; whether the run goes on.
    pub(crate) fn operate(&mut self, sim: &mut Sim, operator: &mut Operator<'_>) -> bool {
        let Some(asked) = operator(sim.progress().now, std::mem::take(&mut self.answers)) else {
            return false;
        };
        for host in self.hosts.iter().filter(|host| asked.contains(&host.name)) {
            self.lab.give(sim, host.id, &ip::datagram(address(host.id), ASKED));
        }
        true
    }

    fn listen(&mut self, sim: &mut Sim) -> Result<(), Error> {
        for (host, event) in self.lab.take_events() {
            match event {
                Event::Ready => {}
                Event::Unready => {
                    return Err(emu::Error::Unready { name: self.host(host).name.clone() }.into());
                }
                Event::Refused(number) => {
                    let host = self.host(host);
                    // A guest may say any number.
                    let Some(setting) = host.settings.get(number).cloned() else { continue };
                    return Err(emu::Error::Setting { name: host.name.clone(), setting }.into());
                }
                // A guest may say anything: only of its own programs is it believed.
                Event::Ended(number, code) => match self.task(number, host) {
                    Some(Task::Program(job)) => {
                        sim.finish(job, host);
                        self.exited.push(Exited { job, host, at: sim.progress().now, code });
                    }
                    Some(Task::Member) => return Err(self.silent(host)),
                    None => {}
                },
                Event::Answered(number, code) => {
                    self.answers.push(Answer { host: self.host(host).name.clone(), number, code });
                }
                Event::Finished(number) => {
                    if self.task(number, host) == Some(Task::Member) {
                        let jobs = self.away.iter().filter(|(_, hosts)| hosts.contains(&host));
                        jobs.for_each(|(job, _)| sim.finish(*job, host));
                    }
                }
            }
        }
        match self.lab.ended() {
            Some(host) if self.waits_for(sim, host) => {
                Err(emu::Error::Gone { name: self.host(host).name.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Tells the processes of jobs that the run is over; what they report.
    ///
    /// # Errors
    /// One that reports nothing.
    pub(crate) fn reports(&mut self, sim: &mut Sim) -> Result<Vec<MemberReport>, Error> {
        let members: Vec<(usize, HostId)> = (0..)
            .zip(&self.tasks)
            .filter_map(|(number, (task, host))| (*task == Task::Member).then_some((number, *host)))
            .collect();
        let report = |(number, host): (usize, HostId)| {
            let packet = ip::datagram(address(host), members::OVER);
            let last = |event| matches!(event, Event::Ended(ended, _) if ended == number);
            self.lab.tell(sim, host, (&packet, &last), LAST_WORDS)?;
            let name = &self.host(host).name;
            members::report(host, name, &self.folder)
        };
        members.into_iter().map(report).collect()
    }

    /// What runs on `host` under a number.
    fn task(&self, number: usize, host: HostId) -> Option<Task> {
        self.tasks.get(number).filter(|(_, at)| *at == host).map(|(task, _)| *task)
    }

    fn silent(&self, host: HostId) -> Error {
        members::silent(&self.host(host).name, &self.folder)
    }

    fn host(&self, id: HostId) -> &Host {
        self.hosts.iter().find(|host| host.id == id).expect("only these have guests")
    }

    /// Whether the run waits for something on this host.
    fn waits_for(&self, sim: &Sim, host: HostId) -> bool {
        let jobs = sim.job_records();
        let waits = |task: &Task| match task {
            Task::Program(job) => jobs[*job].end.is_none(),
            Task::Member => true,
        };
        self.tasks.iter().any(|(task, at)| *at == host && waits(task))
    }
}
