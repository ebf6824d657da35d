//! A thread's memory accesses: those of a trace, or generated ones.

mod made;
mod recorded;

use crate::steps::Step;
use made::Making;
use rand_pcg::Pcg64;
use recorded::Reading;
use std::sync::Arc;
use units::Time;

pub use made::{Order, Pattern, Shape};
pub use recorded::Recorded;

#[derive(Clone, Debug)]
enum Kind {
    Recorded(Reading),
    Made(Making),
}

/// Steps of a thread, one by one.
#[derive(Clone, Debug)]
pub struct ThreadAccesses(Kind);

impl ThreadAccesses {
    /// A trace's, one for each thread.
    pub fn recorded(of: &Arc<Recorded>) -> Vec<ThreadAccesses> {
        let of_thread = |thread| ThreadAccesses(Kind::Recorded(Reading::new(Arc::clone(of), thread)));
        (0..of.threads()).map(of_thread).collect()
    }

    /// Made up: a thread for each random stream, with its share of the accesses.
    pub fn made(pattern: Pattern, random: Vec<Pcg64>) -> Vec<ThreadAccesses> {
        Making::threads(pattern, random)
            .into_iter()
            .map(|making| ThreadAccesses(Kind::Made(making)))
            .collect()
    }

    /// The numbers of the program's pages, ascending, and how many of them remote memory has at first.
    pub fn pages(&self) -> (Arc<[u64]>, u32) {
        match &self.0 {
            Kind::Recorded(reading) => {
                let steps = &reading.recorded().steps;
                (steps.pages.as_slice().into(), steps.stored)
            }
            Kind::Made(making) => {
                let pattern = making.pattern();
                ((0..u64::from(pattern.pages)).collect(), pattern.stored())
            }
        }
    }

    /// What the thread takes with all memory local. One of a trace ends by the time at which that ends.
    pub fn all_local(&self) -> Time {
        match &self.0 {
            Kind::Recorded(reading) => Time::from_ns(1).saturating_mul(reading.recorded().steps.computed_ns),
            Kind::Made(making) => making.pattern().compute.saturating_mul(making.accesses()),
        }
    }

    /// The step of the trace up to which the program's first thread comes before this one begins.
    pub(crate) fn begins(&self) -> usize {
        match &self.0 {
            Kind::Recorded(reading) => reading.begins(),
            Kind::Made(_) => 0,
        }
    }

    /// The number of the next step in the trace.
    pub(crate) fn at(&self) -> usize {
        match &self.0 {
            Kind::Recorded(reading) => reading.at(),
            Kind::Made(_) => 0,
        }
    }

    /// The next step, and what the thread computes before it is added to `computed`. Nothing at the end.
    pub fn next(&mut self, computed: &mut Time) -> Option<Step> {
        match &mut self.0 {
            Kind::Recorded(reading) => reading.next(computed),
            Kind::Made(making) => making.next(computed),
        }
    }
}
