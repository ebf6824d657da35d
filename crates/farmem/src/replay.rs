//! A program's steps gone through with a cache: how many exchanges with remote memory there are.
//!
//! For FIFO and CLOCK, and for read-ahead, this is the only way; a run for each size. LRU has all sizes at once ([`crate::curve`]).

use crate::local::{Local, Met};
use crate::steps::Steps;

pub use crate::local::Setting;

/// What a run through the steps comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accesses to pages that are local.
    pub hits: u64,
    /// First accesses, to pages full of zeros: nothing is fetched.
    pub cold: u64,
    /// Faults that something is fetched for.
    pub faults: u64,
    /// Pages fetched, with those read ahead.
    pub fetched: u64,
    /// Requests that they come with.
    pub requests: u64,
    /// Pages written back, because they left and had been written to.
    pub written_back: u64,
    /// Requests that they go with: those of different faults don't share one.
    pub sends: u64,
}

impl Counts {
    /// An access that met this, with so many pages written back, where so many share a request.
    pub fn add(&mut self, met: Met, written_back: usize, pages_a_request: u32) {
        let a_request = u64::from(pages_a_request.max(1));
        match met {
            Met::Hit => self.hits += 1,
            Met::Cold => self.cold += 1,
            Met::Fault { ahead } => {
                let fetched = u64::from(ahead) + 1;
                self.faults += 1;
                self.fetched += fetched;
                self.requests += fetched.div_ceil(a_request);
            }
        }
        self.written_back += written_back as u64;
        self.sends += (written_back as u64).div_ceil(a_request);
    }

    /// All accesses.
    pub fn accesses(&self) -> u64 {
        self.hits + self.cold + self.faults
    }
}

/// Goes through the steps once, with an empty cache at first.
///
/// # Panics
/// When the capacity is none that a cache can have.
pub fn replay(steps: &Steps, setting: &Setting) -> Counts {
    let mut local = Local::new(steps.pages.as_slice(), steps.stored, setting);
    let mut counts = Counts::default();
    let mut back = Vec::new();
    for step in &steps.steps {
        if let Some(met) = local.step(*step, &mut back) {
            counts.add(met, back.len(), setting.pages_a_request);
            back.clear();
        }
    }
    counts
}
