//! A simulation in parts as its driver sees it: turn by turn to its end.

use crate::key::{Kind, key, mixed, split};
use crate::parts::crew::{Crew, Lead};
use crate::parts::cut::Cut;
use crate::parts::join::{sample_flows, unite_all};
use crate::parts::part::{Mail, Part};
use crate::records::{FlowRecord, Records};
use crate::run::{Control, Pause, Progress, Sim};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use units::Time;

/// All parts, while they meet.
pub(crate) type Guards<'a> = Vec<MutexGuard<'a, Sim>>;

/// A simulation in parts.
pub struct Parts {
    hall: Arc<Hall>,
    lead: Lead,
    books: Books,
    /// Other threads than the caller's.
    workers: Vec<JoinHandle<()>>,
}

/// Where parts are.
struct Hall {
    sims: Vec<Mutex<Sim>>,
    desk: Desk,
    crew: Crew,
}

/// Where parts leave what is for others while they run.
struct Desk {
    /// What part a has for part b is at `a * parts + b`. Even and odd rounds are apart, so that a part may be
    /// done with a round before another has begun it.
    mail: [Vec<Mutex<Mail>>; 2],
    /// By part: the next event there, and of what it has handed over.
    next: Vec<AtomicU64>,
    /// Up to this time all may run.
    end: AtomicU64,
}

/// What concerns the whole.
pub(crate) struct Books {
    /// The controls of the run, and when.
    controls: BinaryHeap<Reverse<(Time, u32)>>,
    ahead: Time,
    grain: Time,
    until: Time,
    stop: Time,
    winds_up: bool,
    pub now: Time,
    pub events: u64,
    pub fingerprint: u64,
    pub flows: u32,
    pub tasks_begun: u64,
    /// By part and number there: numbers of tasks.
    pub tasks: Vec<Vec<u64>>,
    pub jobs: Vec<JobBook>,
    pub jobs_left: usize,
    pub records: Kept,
}

/// What was recorded since it was last asked for.
#[derive(Default)]
pub(crate) struct Kept {
    /// Flows, and when they were released.
    pub flows: Vec<(Time, FlowRecord)>,
    pub tasks: Vec<crate::TaskRecord>,
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

impl Parts {
    /// A simulation in parts. `sims` are as many simulations, all alike and not yet run, of a network that
    /// was [cut](Sim::cut) so.
    pub fn new(cut: &Cut, sims: Vec<Sim>, threads: usize) -> Parts {
        let parts = sims.len();
        assert_eq!(parts, cut.parts(), "a simulation for each part");
        let mut books = Books::new(&sims[0], cut.ahead, parts);
        let each = sims.into_iter().enumerate().map(|(me, mut sim)| {
            let controls = sim.become_part(Part::new(me, parts, cut.of.clone(), cut.ahead));
            if me == 0 {
                books.controls = controls.into_iter().map(Reverse).collect();
            }
            Mutex::new(sim)
        });
        let sims: Vec<Mutex<Sim>> = each.collect();
        let desk = Desk {
            mail: [(); 2].map(|()| (0..parts * parts).map(|_| Mutex::default()).collect()),
            next: (0..parts).map(|_| AtomicU64::new(Time::MAX.as_ps())).collect(),
            end: AtomicU64::new(0),
        };
        let threads = threads.clamp(1, parts);
        let hall = Arc::new(Hall { sims, desk, crew: Crew::new(threads, parts) });
        let worker = |thread| {
            let hall = Arc::clone(&hall);
            std::thread::spawn(move || hall.crew.follow(thread, |part| hall.run(part)))
        };
        Parts { workers: (1..threads).map(worker).collect(), lead: Lead::default(), hall, books }
    }

    /// Runs some `events` events, as [`Sim::run`] does.
    pub fn run(&mut self, events: u64) -> Pause {
        let Parts { hall, lead, books, .. } = self;
        let target = hall.events().saturating_add(events);
        loop {
            if let Some(pause) = books.turn(hall, target) {
                return pause;
            }
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
        whole.tasks.renumber(&books.tasks[0]);
        for (other, numbers) in sims.zip(&books.tasks[1..]) {
            whole.join(other, numbers);
        }
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

fn lock(sims: &[Mutex<Sim>]) -> Guards<'_> {
    sims.iter().map(|sim| sim.lock().unwrap_or_else(PoisonError::into_inner)).collect()
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.dismiss();
    }
}

impl Hall {
    /// Lets a part run up to the time that was agreed upon.
    fn run(&self, part: usize) {
        let mut sim = self.sims[part].lock().unwrap_or_else(PoisonError::into_inner);
        let (desk, parts, round) = (&self.desk, self.sims.len(), self.crew.round());
        desk.deliver(part, parts, &mut sim, round + 1);
        sim.run_window(Time::from_ps(desk.end.load(Ordering::Acquire)));
        let mut next = sim.net.outside.wheel.peek().map_or(Time::MAX, |entry| entry.time);
        let out = &mut sim.part.as_mut().expect("a part").out;
        for (to, mail) in out.iter_mut().enumerate().filter(|(_, mail)| !mail.packets.is_empty()) {
            next = next.min(mail.packets[0].arrive);
            let mut there = desk.mail(part, to, parts, round);
            debug_assert!(there.packets.is_empty(), "the other part has taken it");
            std::mem::swap(&mut *there, mail);
        }
        desk.next[part].store(next.as_ps(), Ordering::Release);
    }

    fn deliver_all(&self, sims: &mut Guards<'_>) {
        let (parts, round) = (sims.len(), self.crew.round());
        sims.iter_mut().enumerate().for_each(|(part, sim)| self.desk.deliver(part, parts, sim, round));
    }

    fn events(&self) -> u64 {
        lock(&self.sims).iter().map(|sim| sim.events).sum()
    }
}

impl Desk {
    fn mail(&self, from: usize, to: usize, parts: usize, round: u64) -> MutexGuard<'_, Mail> {
        self.mail[(round % 2) as usize][from * parts + to].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a part what others had for it in a round.
    fn deliver(&self, part: usize, parts: usize, sim: &mut Sim, round: u64) {
        for from in (0..parts).filter(|from| *from != part) {
            let mut mail = self.mail(from, part, parts, round);
            if !mail.packets.is_empty() {
                sim.take_in(from, &mut mail);
            }
        }
    }

    /// The next event of all parts.
    fn first(&self) -> Time {
        let next = self.next.iter().map(|next| next.load(Ordering::Acquire)).min();
        Time::from_ps(next.unwrap_or(u64::MAX))
    }
}

impl Books {
    fn new(sim: &Sim, ahead: Time, parts: usize) -> Books {
        let book = |job: &crate::job::Job| JobBook {
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
            fingerprint: 0,
            flows: 0,
            tasks_begun: 0,
            tasks: vec![Vec::new(); parts],
            jobs: sim.jobs.iter().map(book).collect(),
            jobs_left: sim.jobs_left,
            records: Kept::default(),
        }
    }

    /// All parts meet: what has to be done before they run on; why the run pauses, if it does.
    fn turn(&mut self, hall: &Hall, target: u64) -> Option<Pause> {
        let (mut guards, desk) = (lock(&hall.sims), &hall.desk);
        self.meet(&mut guards);
        let latest = guards.iter().map(|sim| sim.net.now).max().expect("there are parts");
        self.now = self.now.max(latest);
        if guards.iter().map(|sim| sim.events).sum::<u64>() >= target {
            return Some(Pause::Running);
        }
        loop {
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
                    hall.deliver_all(&mut guards);
                    self.control(&mut guards, at, index);
                    for (sim, next) in guards.iter_mut().zip(&desk.next) {
                        let first = sim.net.outside.wheel.peek().map_or(Time::MAX, |entry| entry.time);
                        next.store(first.as_ps(), Ordering::Release);
                    }
                }
                _ => {
                    let next = next.as_ps();
                    let mut end = next.saturating_add(self.ahead.as_ps() - 1).min(self.stop.as_ps());
                    end = end.min(next.next_multiple_of(self.grain.as_ps()));
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
        if finished { Pause::Finished } else { Pause::Until }
    }

    /// A job starts, a fault strikes or samples are taken: in all parts.
    fn control(&mut self, sims: &mut Guards<'_>, at: Time, index: u32) {
        self.now = at;
        self.events += 1;
        self.fingerprint = self.fingerprint.wrapping_add(mixed(at, key(Kind::Control, index)));
        let control = sims[0].controls[index as usize];
        if matches!(control, Control::Sample) {
            self.report_losses(sims);
        }
        for sim in sims.iter_mut() {
            sim.net.now = at;
            sim.do_control(index);
        }
        self.meet(sims);
        match control {
            Control::Sample => {
                let mut samples: Vec<Records> =
                    sims.iter_mut().map(|sim| std::mem::take(&mut sim.records)).collect();
                if sims[0].sampler.flows {
                    samples[0].flow_samples.append(&mut sample_flows(sims, at));
                }
                self.records.others.add_samples(samples);
                let more =
                    sims.iter().any(|sim| !sim.net.outside.wheel.is_empty()) || !self.controls.is_empty();
                if more {
                    let interval = sims[0].sampler.interval.expect("sampling has an interval");
                    self.controls.push(Reverse((at.saturating_add(interval), index)));
                }
            }
            Control::Start(job) if self.jobs[job as usize].unfinished == 0 => self.finish_job(job),
            _ => {}
        }
        self.records.others.events.append(&mut sims[0].records.events);
        sims.iter_mut().for_each(|sim| sim.records.events.clear());
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
    pub(crate) fn finish_job(&mut self, job: u32) {
        let book = &mut self.jobs[job as usize];
        book.last = if book.last == Time::ZERO { self.now } else { book.last };
        if book.background {
            return;
        }
        book.end = Some(book.last);
        self.jobs_left -= 1;
        if self.jobs_left == 0 {
            let last = self.jobs.iter().filter_map(|job| job.end).max().expect("one has ended");
            self.winds_up = true;
            self.stop = self.until.min(Time::from_ps(last.as_ps().next_multiple_of(self.grain.as_ps())));
        }
    }
}

impl Sim {
    /// Becomes a part: only its own nodes do anything. What was to happen at set times, for all to do.
    fn become_part(&mut self, mut part: Part) -> Vec<(Time, u32)> {
        let mut controls = Vec::new();
        while let Some(entry) = self.net.outside.wheel.peek() {
            self.net.outside.wheel.pop();
            let (kind, index) = split(entry.key());
            assert_eq!(kind, Kind::Control, "nothing has begun");
            controls.push((entry.time, index));
        }
        for slot in &mut self.processes {
            if !part.owns(fabric::NodeId(slot.host)) {
                slot.process = None;
            }
        }
        let ports: Vec<fabric::PortId> = self.net.fabric.ports().collect();
        for port in ports {
            let (owner, peer) = self.net.fabric.ends(port);
            if part.owns(owner) && !part.owns(peer) {
                self.net.fabric.cut(port, part.ahead);
                part.cut.push(port);
                part.there.resize(port.index() + 1, part.me);
                part.there[port.index()] = part.of[peer.0 as usize];
            }
        }
        let fabric = &self.net.fabric;
        self.sampler.restrict(|port| part.owns(fabric.ends(port).0), |node| part.owns(node));
        self.part = Some(Box::new(part));
        controls
    }

    /// Does what [`Parts`] has for all parts to do now.
    fn do_control(&mut self, index: u32) {
        self.handle(Kind::Control, index);
        if self.net.outside.news {
            self.follow_up();
        }
    }
}
