//! What runs a simulation: the whole of it, or its parts on several threads.

use crate::build::build_again;
use crate::lab::Scenario;
use sim::{Parts, Pause, Records, Sim};
use std::num::NonZeroUsize;
use std::ops::DerefMut;

/// A simulation that runs.
pub(crate) enum Engine {
    /// On this thread.
    Whole(Box<Sim>),
    /// In parts, on several.
    Parts(Box<Parts>),
}

impl Engine {
    /// What runs `sim`, which was built from `scenario`, on so many threads at most.
    pub(crate) fn new(scenario: &Scenario, sim: Sim, threads: NonZeroUsize) -> Engine {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = threads.get().min(processors);
        let cut = (threads > 1 && scenario.fidelity.is_none()).then(|| sim.cut(threads)).flatten();
        let Some(cut) = cut.filter(|cut| cut.is_worth_threads(sim.graph())) else {
            return Engine::Whole(Box::new(sim));
        };
        let others = std::thread::scope(|scope| {
            let one = |_| {
                let (graph, jobs) = (sim.graph(), sim.jobs_without_processes());
                scope.spawn(move || build_again(scenario, graph, jobs).expect("it was built before"))
            };
            let all: Vec<_> = (1..cut.parts()).map(one).collect();
            all.into_iter().map(|one| one.join().expect("it was built before")).collect::<Vec<Sim>>()
        });
        Engine::Parts(Box::new(Parts::new(&cut, std::iter::once(sim).chain(others).collect(), threads)))
    }

    /// Runs some `events` events.
    pub(crate) fn run(&mut self, events: u64) -> Pause {
        match self {
            Engine::Whole(sim) => sim.run(events),
            Engine::Parts(parts) => parts.run(events),
        }
    }

    pub(crate) fn progress(&self) -> sim::Progress {
        match self {
            Engine::Whole(sim) => sim.progress(),
            Engine::Parts(parts) => parts.progress(),
        }
    }

    pub(crate) fn take_records(&mut self) -> Records {
        match self {
            Engine::Whole(sim) => sim.take_records(),
            Engine::Parts(parts) => parts.take_records(),
        }
    }

    pub(crate) fn received_by_jobs(&self) -> u64 {
        match self {
            Engine::Whole(sim) => sim.received_by_jobs(),
            Engine::Parts(parts) => parts.received_by_jobs(),
        }
    }

    /// The simulation, or a part of it that has names and routes of all.
    pub(crate) fn sim(&mut self) -> Box<dyn DerefMut<Target = Sim> + '_> {
        match self {
            Engine::Whole(sim) => Box::new(&mut **sim),
            Engine::Parts(parts) => Box::new(parts.first()),
        }
    }

    /// The whole, for its totals.
    pub(crate) fn into_whole(self) -> Sim {
        match self {
            Engine::Whole(sim) => *sim,
            Engine::Parts(parts) => parts.into_whole(),
        }
    }
}
