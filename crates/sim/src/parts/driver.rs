//! A simulation in parts as its driver sees it.

use crate::job::{Job, JobSetup};
use crate::parts::books::{Books, Kept};
use crate::parts::crew::Lead;
use crate::parts::cut::Cut;
use crate::parts::hall::{Hall, lock};
use crate::parts::join::unite_all;
use crate::parts::part::Part;
use crate::records::Records;
use crate::run::{Pause, Progress, Sim};
use process::{Context, Event, HostId, Process};
use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A simulation in parts.
pub struct Parts {
    hall: Arc<Hall>,
    lead: Lead,
    books: Books,
    /// Other threads than the caller's.
    workers: Vec<JoinHandle<()>>,
}

impl Parts {
    /// A simulation in parts. `sims` are as many simulations, all alike and not yet run, of a network that
    /// was [cut](Sim::cut) so. All processes are the first one's.
    pub fn new(cut: &Cut, mut sims: Vec<Sim>, threads: usize) -> Parts {
        let parts = sims.len();
        assert_eq!(parts, cut.parts(), "a simulation for each part");
        let (first, others) = sims.split_first_mut().expect("there is a part");
        for (me, other) in (1..).zip(others) {
            for (there, here) in other.processes.iter_mut().zip(&mut first.processes) {
                if usize::from(cut.of[here.host as usize]) == me {
                    std::mem::swap(&mut there.process, &mut here.process);
                }
            }
        }
        let mut books = Books::new(&sims[0], cut.ahead);
        let each = sims.into_iter().enumerate().map(|(me, mut sim)| {
            let controls = sim.become_part(Part::new(me, parts, cut.of.clone(), cut.ahead));
            if me == 0 {
                books.controls = controls.into_iter().map(Reverse).collect();
            }
            Mutex::new(sim)
        });
        let sims: Vec<Mutex<Sim>> = each.collect();
        let threads = threads.clamp(1, parts);
        let hall = Arc::new(Hall::new(sims, threads));
        let worker = |thread| {
            let hall = Arc::clone(&hall);
            std::thread::spawn(move || hall.crew.follow(thread, |part| hall.run(part)))
        };
        Parts { workers: (1..threads).map(worker).collect(), lead: Lead::default(), hall, books }
    }

    /// Runs some `events` events, as [`Sim::run`] does.
    pub fn run(&mut self, events: u64) -> Pause {
        let Parts { hall, lead, books, .. } = self;
        let target = (hall.desk.events() + books.events).saturating_add(events);
        loop {
            if let Some(pause) = books.turn(hall, target) {
                return pause;
            }
            lead.see(&hall.crew, books.events_of_parts);
            if hall.crew.lead(lead, |part| hall.run(part)).is_err() {
                self.fail();
            }
        }
    }

    /// A worker has panicked, and so does its caller.
    fn fail(&mut self) -> ! {
        let panics = self.workers.drain(..).filter_map(|worker| worker.join().err()).next();
        std::panic::resume_unwind(panics.expect("a worker has said so"))
    }

    /// How far the simulation is.
    pub fn progress(&self) -> Progress {
        let (books, guards) = (&self.books, lock(&self.hall.sims));
        let all: Vec<Progress> = guards.iter().map(|sim| sim.progress()).collect();
        let sum = |of: fn(&Progress) -> u64| all.iter().map(of).sum::<u64>();
        Progress {
            now: books.now,
            events: sum(|part| part.events) + books.events,
            packet_hops: sum(|part| part.packet_hops),
            flows_done: sum(|part| part.flows_done),
            flows: u64::from(books.flows),
            jobs_left: books.jobs_left,
            fingerprint: all.iter().fold(books.fingerprint, |all, part| all.wrapping_add(part.fingerprint)),
        }
    }

    /// Hands out what was measured since the last call.
    pub fn take_records(&mut self) -> Records {
        let Kept { mut flows, mut tasks, others } = std::mem::take(&mut self.books.records);
        flows.sort_unstable_by_key(|(at, flow)| (*at, flow.flow));
        tasks.sort_unstable_by_key(|task| (task.end, task.task));
        Records { flows: flows.into_iter().map(|(_, flow)| flow).collect(), tasks, ..others }
    }

    /// The whole again, for its totals. It is at its end.
    pub fn into_whole(mut self) -> Sim {
        {
            let mut guards = lock(&self.hall.sims);
            self.hall.deliver_all(&mut guards);
            self.books.meet(&mut guards);
            self.books.report_losses(&mut guards);
            unite_all(&mut guards);
        }
        let records = self.take_records();
        self.dismiss();
        let Parts { hall, books, .. } = &mut self;
        let hall = Arc::get_mut(hall).expect("no worker has it any more");
        let mut sims = std::mem::take(&mut hall.sims)
            .into_iter()
            .map(|sim| sim.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut whole = sims.next().expect("there is a first part");
        whole.records = records;
        sims.for_each(|other| whole.join(other));
        whole.end_parts(books);
        whole
    }

    /// Sends the workers home.
    fn dismiss(&mut self) {
        self.hall.crew.end();
        // One that has panicked has said so.
        self.workers.drain(..).for_each(|worker| drop(worker.join()));
    }

    /// The first part, which has names and numbers of all.
    pub fn first(&mut self) -> MutexGuard<'_, Sim> {
        self.hall.sims[0].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Application bytes that jobs which the run waits for have received.
    pub fn received_by_jobs(&self) -> u64 {
        lock(&self.hall.sims).iter().map(|sim| sim.received_by_jobs()).sum()
    }
}

impl Sim {
    /// The jobs, with processes that do nothing: for a simulation that gets its processes from this one.
    pub fn jobs_without_processes(&self) -> Vec<JobSetup> {
        let process = |index: &u32| {
            let host = HostId(self.processes[*index as usize].host);
            (host, Box::new(Elsewhere) as Box<dyn Process>)
        };
        let job = |job: &Job| JobSetup {
            name: job.name.clone(),
            kind: job.kind.clone(),
            start: job.start,
            class: job.class,
            background: job.background,
            processes: job.processes.iter().map(process).collect(),
        };
        self.jobs.iter().map(job).collect()
    }
}

/// A process that is in another simulation.
struct Elsewhere;

impl Process for Elsewhere {
    fn handle(&mut self, _event: Event, _cx: &mut dyn Context) {}
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.dismiss();
    }
}
