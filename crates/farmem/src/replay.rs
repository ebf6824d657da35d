//! A program's steps replayed with a cache: the number of exchanges with remote memory.
//!
//! For FIFO and CLOCK, and for read-ahead, this is the only way, with one run per size. LRU has all sizes at
//! once ([`crate::curve`]).

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

/// What the handler of faults does for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handled {
    /// What is exchanged.
    pub counts: Counts,
    /// First accesses while all that was asked for fitted: nobody handles them.
    pub unseen: u64,
    /// Pages that left for others, written back or not.
    pub evicted: u64,
    /// Faults that wait: something is fetched, or a page left that had to be written back.
    pub waiting: u64,
}

/// Goes through the steps once, with an empty cache at first.
///
/// # Panics
/// When the capacity is none that a cache can have.
pub fn replay(steps: &Steps, setting: &Setting) -> Counts {
    from(steps, setting, 0).counts
}

/// The same, but nothing is remote before the program has asked for more than fits.
///
/// # Panics
/// When the capacity is none that a cache can have.
pub fn handled(steps: &Steps, setting: &Setting) -> Handled {
    from(steps, setting, steps.while_it_fits(u64::from(setting.capacity) << steps.page_bits))
}

fn from(steps: &Steps, setting: &Setting, first: usize) -> Handled {
    let mut local = Local::new(steps.pages.as_slice(), steps.stored, setting);
    let (before, behind) = steps.steps.split_at(first);
    let (accesses, unseen) = local.adopt(before);
    let counts = Counts { hits: accesses - unseen, cold: unseen, ..Counts::default() };
    let mut handled = Handled { counts, unseen, ..Handled::default() };
    let mut back = Vec::new();
    for step in behind {
        if let Some(met) = local.step(*step, &mut back) {
            handled.counts.add(met, back.len(), setting.pages_a_request);
            handled.waiting += u64::from(matches!(met, Met::Fault { .. }) || !back.is_empty());
            back.clear();
        }
    }
    Handled { evicted: local.evicted(), ..handled }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Policy;
    use crate::steps::Step::{Free, Read, Write};

    #[test]
    fn pages_leave_for_others_and_faults_wait_for_those_that_were_written_to() {
        let steps = Steps {
            // Two places: 1 and 2 leave for 3 and 4, of which 1 was written to; then 1 comes back for 3.
            steps: vec![Write(0), Read(1), Read(2), Read(3), Read(0), Free(3), Read(1)],
            pages: vec![10, 11, 12, 13],
            ..Steps::default()
        };
        let found = handled(&steps, &Setting::new(2, Policy::Fifo));
        assert_eq!((found.counts.faults, found.counts.cold, found.counts.written_back), (1, 5, 1));
        assert_eq!((found.evicted, found.waiting), (3, 2));
        assert_eq!(replay(&steps, &Setting::new(2, Policy::Fifo)), found.counts);
    }

    #[test]
    fn what_was_touched_while_all_fitted_is_local_by_address_and_counts_as_written() {
        let steps = Steps {
            // 2, 0 and 1 are touched while three pages fit; then 3 comes for 0, not for 2, and 0 for 1.
            steps: vec![Read(2), Read(0), Read(2), Read(1), Read(3), Read(0), Read(2)],
            pages: vec![10, 11, 12, 13],
            page_bits: 12,
            asked: vec![(3 << 12, 0), (4 << 12, 4)],
            ..Steps::default()
        };
        let found = handled(&steps, &Setting::new(3, Policy::Fifo));
        assert_eq!((found.unseen, found.evicted, found.waiting), (3, 2, 2));
        let Counts { hits, cold, faults, written_back, .. } = found.counts;
        assert_eq!((hits, cold, faults, written_back), (2, 4, 1, 2));
        let all = handled(&steps, &Setting::new(4, Policy::Fifo));
        assert_eq!((all.unseen, all.counts.hits, all.counts.cold), (4, 3, 4));
    }
}
