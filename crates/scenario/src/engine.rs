//! What runs a simulation: the whole of it, or its parts on several threads.

use crate::build::build_again;
use crate::lab::{Job, Scenario};
use sim::{Cut, Parts, Pause, Records, Sim};
use std::num::NonZeroUsize;
use std::ops::DerefMut;

/// Packets over links from which on threads gain more than it takes to build their parts.
const WORTH: f64 = 200_000.0;
/// Links that a packet crosses, bytes that it carries, and packets of a flow beside its data: about.
const LINKS: f64 = 4.0;
const SEGMENT_BYTES: f64 = 1_460.0;
const FLOW_PACKETS: f64 = 5.0;

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
        let Some(cut) = cut(scenario, &sim, threads) else { return Engine::Whole(Box::new(sim)) };
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

/// Where the simulation of a scenario is cut for so many threads, if it gains by them.
pub fn cut(scenario: &Scenario, sim: &Sim, threads: usize) -> Option<Cut> {
    if threads == 1 || scenario.fidelity.is_some() {
        return None;
    }
    let (hops, per_second) = packet_hops(scenario);
    let cut = (hops >= WORTH).then(|| sim.cut(threads)).flatten();
    cut.filter(|cut| cut.is_worth_threads(sim.graph(), per_second))
}

/// Packets over links that the jobs need: in all, and in a second at most. Infinite where nobody knows.
fn packet_hops(scenario: &Scenario) -> (f64, f64) {
    let of = |job: &Job| {
        let Some(sends) = job.work.kind().sends() else { return (f64::INFINITY, f64::INFINITY) };
        // Each packet with data is acknowledged.
        let hops = LINKS * (2.0 * sends.bytes / SEGMENT_BYTES + FLOW_PACKETS * sends.flows);
        (hops, hops / sends.over.as_secs_f64())
    };
    scenario.jobs.iter().map(of).fold((0.0, 0.0), |sum, job| (sum.0 + job.0, sum.1 + job.1))
}
