//! Where the parts of a run are, and what they leave for each other.

use crate::parts::crew::Crew;
use crate::parts::part::Mail;
use crate::run::Sim;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::Time;

/// All parts, while they meet.
pub(crate) type Guards<'a> = Vec<MutexGuard<'a, Sim>>;

/// Where parts are.
pub(crate) struct Hall {
    pub sims: Vec<Mutex<Sim>>,
    pub desk: Desk,
    pub crew: Crew,
}

/// Where parts leave what is for others while they run.
pub(crate) struct Desk {
    /// What part a has for part b is at `a * parts + b`. Even and odd rounds are apart, so that a part may be
    /// done with a round before another has begun it.
    mail: [Vec<Mutex<Mail>>; 2],
    /// By part: how far it is.
    pub reports: Vec<Report>,
    /// Up to this time all may run.
    pub end: AtomicU64,
}

/// What a part says when a round is over: all that the leader has to know in most rounds. Each has cache
/// lines of its own, since several threads write at a time.
#[repr(align(128))]
pub(crate) struct Report {
    /// The next event there, and of what it has handed over.
    next: AtomicU64,
    /// Its latest event, and how many it has had.
    now: AtomicU64,
    events: AtomicU64,
    /// Whether others have to be told something.
    has_news: AtomicBool,
}

impl Report {
    fn new() -> Report {
        let next = AtomicU64::new(Time::MAX.as_ps());
        Report { next, now: AtomicU64::new(0), events: AtomicU64::new(0), has_news: AtomicBool::new(true) }
    }

    /// Says how far a part is; what it has handed over arrives from `arrival` on.
    pub(crate) fn write(&self, sim: &mut Sim, arrival: Time) {
        self.next.store(sim.first().min(arrival).as_ps(), Ordering::Release);
        self.now.store(sim.net.now.as_ps(), Ordering::Release);
        self.events.store(sim.events, Ordering::Release);
        self.has_news.store(sim.has_news(), Ordering::Release);
    }
}

impl Hall {
    pub(crate) fn new(sims: Vec<Mutex<Sim>>, threads: usize) -> Hall {
        let parts = sims.len();
        let desk = Desk {
            mail: [(); 2].map(|()| (0..parts * parts).map(|_| Mutex::default()).collect()),
            reports: (0..parts).map(|_| Report::new()).collect(),
            end: AtomicU64::new(0),
        };
        Hall { sims, desk, crew: Crew::new(threads, parts) }
    }

    /// Lets a part run up to the time that was agreed upon.
    pub(crate) fn run(&self, part: usize) {
        let mut sim = self.sims[part].lock().unwrap_or_else(PoisonError::into_inner);
        let (desk, parts, round) = (&self.desk, self.sims.len(), self.crew.round());
        desk.deliver(part, parts, &mut sim, round + 1);
        sim.run_window(Time::from_ps(desk.end.load(Ordering::Acquire)));
        let mut arrival = Time::MAX;
        let out = &mut sim.part.as_mut().expect("a part").out;
        for (to, mail) in out.iter_mut().enumerate().filter(|(_, mail)| !mail.packets.is_empty()) {
            arrival = arrival.min(mail.first);
            let mut there = desk.mail(part, to, parts, round);
            debug_assert!(there.packets.is_empty(), "the other part has taken it");
            std::mem::swap(&mut *there, mail);
        }
        desk.reports[part].write(&mut sim, arrival);
    }

    pub(crate) fn deliver_all(&self, sims: &mut Guards<'_>) {
        let (parts, round) = (sims.len(), self.crew.round());
        sims.iter_mut().enumerate().for_each(|(part, sim)| self.desk.deliver(part, parts, sim, round));
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
    pub(crate) fn first(&self) -> Time {
        let next = self.reports.iter().map(|part| part.next.load(Ordering::Acquire)).min();
        Time::from_ps(next.unwrap_or(u64::MAX))
    }

    /// The latest event of all parts.
    pub(crate) fn now(&self) -> Time {
        let now = self.reports.iter().map(|part| part.now.load(Ordering::Acquire)).max();
        Time::from_ps(now.unwrap_or(0))
    }

    /// Events of all parts.
    pub(crate) fn events(&self) -> u64 {
        self.reports.iter().map(|part| part.events.load(Ordering::Acquire)).sum()
    }

    pub(crate) fn has_news(&self) -> bool {
        self.reports.iter().any(|part| part.has_news.load(Ordering::Acquire))
    }
}

/// Has all parts to itself.
pub(crate) fn lock(sims: &[Mutex<Sim>]) -> Guards<'_> {
    sims.iter().map(|sim| sim.lock().unwrap_or_else(PoisonError::into_inner)).collect()
}
