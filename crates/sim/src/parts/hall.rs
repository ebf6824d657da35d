//! Where the parts of a run are, and what they leave for each other.

use crate::parts::crew::Crew;
use crate::parts::part::Mail;
use crate::run::Sim;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// By part: the next event there, and of what it has handed over.
    pub next: Vec<AtomicU64>,
    /// Up to this time all may run.
    pub end: AtomicU64,
}

impl Hall {
    pub(crate) fn new(sims: Vec<Mutex<Sim>>, threads: usize) -> Hall {
        let parts = sims.len();
        let desk = Desk {
            mail: [(); 2].map(|()| (0..parts * parts).map(|_| Mutex::default()).collect()),
            next: (0..parts).map(|_| AtomicU64::new(Time::MAX.as_ps())).collect(),
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

    pub(crate) fn deliver_all(&self, sims: &mut Guards<'_>) {
        let (parts, round) = (sims.len(), self.crew.round());
        sims.iter_mut().enumerate().for_each(|(part, sim)| self.desk.deliver(part, parts, sim, round));
    }

    pub(crate) fn events(&self) -> u64 {
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
    pub(crate) fn first(&self) -> Time {
        let next = self.next.iter().map(|next| next.load(Ordering::Acquire)).min();
        Time::from_ps(next.unwrap_or(u64::MAX))
    }
}

/// Has all parts to itself.
pub(crate) fn lock(sims: &[Mutex<Sim>]) -> Guards<'_> {
    sims.iter().map(|sim| sim.lock().unwrap_or_else(PoisonError::into_inner)).collect()
}
