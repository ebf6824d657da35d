//! Which pages a program has local while it is traced: few, so that many accesses are seen, but enough that
//! tracing ends.
//!
//! An access to a local page is not seen. So a trace needs little local memory, and a program with little of
//! it faults all the time: a loop slightly larger than local memory misses with each access, where the
//! requested memory size misses none. Therefore:
//!
//! - **The requested memory sizes are simulated along with the trace**, by FIFO, and a page that leaves one
//!   of them leaves the program. So none of their misses is unseen, and as FIFO uses misses only, their
//!   counts are exact, however much is local.
//! - **The pace**: if tracing takes more than [`MOST`] times as long as the run with the smallest of these
//!   sizes would, a quarter more is local from then on, up to that size. If it takes less than half of that,
//!   a quarter less is local. The resulting amount depends on what the program does meanwhile. Other memory
//!   sizes and other policies are counted the better, the less is local.

use crate::cache::{Cache, Policy};
use std::collections::BTreeSet;

/// How many times as long as the run with the least memory that is asked about tracing may take.
pub const MOST: u64 = 4;
/// Faults after which that is looked at.
pub const FAULTS: u64 = 256;

/// A memory that is asked about.
#[derive(Clone, Debug)]
struct Asked {
    cache: Cache,
    /// Pages in use, until the program has asked for more than this memory has: by then nothing is remote
    /// with it.
    fits: Option<BTreeSet<u64>>,
}

impl Asked {
    /// Whether it misses the page; what leaves is added to `gone`.
    fn access(&mut self, page: u64, gone: &mut Vec<u64>) -> bool {
        if let Some(used) = &mut self.fits {
            used.insert(page);
            return false;
        }
        if self.cache.touch(page, false) {
            return false;
        }
        gone.extend(self.cache.fault(page, false).map(|evicted| evicted.page));
        true
    }

    /// The program has asked for more than this memory has.
    fn begin(&mut self, gone: &mut Vec<u64>) {
        for page in self.fits.take().into_iter().flatten() {
            gone.extend(self.cache.fault(page, false).map(|evicted| evicted.page));
        }
    }
}

/// The traced program's local memory.
#[derive(Clone, Debug)]
pub struct Pace {
    least: u32,
    pages: u32,
    most: u32,
    /// Ascending.
    asked: Vec<Asked>,
    /// Since it was looked at last: faults, and those that the least memory would have too.
    faults: u64,
    missed: u64,
}

impl Pace {
    /// From so many pages on; `asked` are the pages of the memories that are asked about.
    ///
    /// # Panics
    /// When there are none, and as [`Cache::new`].
    pub fn new(least: u32, asked: &[u32]) -> Pace {
        let mut asked = asked.to_vec();
        asked.sort_unstable();
        let most = *asked.first().expect("a memory that is asked about");
        let least = least.min(most);
        let asked = asked
            .into_iter()
            .map(|pages| Asked { cache: Cache::new(pages, Policy::Fifo), fits: Some(BTreeSet::new()) })
            .collect();
        Pace { least, pages: least, most, asked, faults: 0, missed: 0 }
    }

    /// Pages that are local from now on, at most.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The program has asked for what takes so many pages. Pages that are to leave are added to `gone`.
    pub fn asked(&mut self, pages: u64, gone: &mut Vec<u64>) {
        for memory in &mut self.asked {
            if pages > u64::from(memory.cache.capacity()) {
                memory.begin(gone);
            }
        }
    }

    /// The program touched a page that is not local. Pages that are to leave are added to `gone`. Whether
    /// [`Pace::look`] is to come.
    pub fn fault(&mut self, page: u64, gone: &mut Vec<u64>) -> bool {
        self.faults += 1;
        for (index, memory) in self.asked.iter_mut().enumerate() {
            let missed = memory.access(page, gone);
            self.missed += u64::from(missed && index == 0);
        }
        self.faults >= FAULTS
    }

    /// Since this was called last so much time has gone, of which the program computed so much: faults took
    /// the rest.
    pub fn look(&mut self, took_ns: u64, computed_ns: u64) {
        let computed_ns = computed_ns.min(took_ns);
        let run_ns = computed_ns + (took_ns - computed_ns) * self.missed / self.faults.max(1);
        let quarter = (self.pages / 4).max(1);
        if took_ns > MOST * run_ns {
            self.pages = (self.pages + quarter).min(self.most);
        } else if took_ns < MOST * run_ns / 2 {
            self.pages = (self.pages - quarter).max(self.least);
        }
        (self.faults, self.missed) = (0, 0);
    }

    /// The program gave the page back.
    pub fn free(&mut self, page: u64) {
        for memory in &mut self.asked {
            match &mut memory.fits {
                Some(used) => drop(used.remove(&page)),
                None => drop(memory.cache.remove(page)),
            }
        }
    }
}
