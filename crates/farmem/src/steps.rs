//! A trace in pages of one size, ready for repeated replays: accesses and frees of pages with numbers from
//! zero.
//!
//! Numbers are ranks of page numbers, so that neighbours in memory have neighbouring numbers. A page larger
//! than the trace's is composed of the small ones in it, and is freed when the last of those that were
//! accessed is freed. A page never written since it was last freed holds zeros, and is unknown to remote
//! memory.

use crate::trace::{Pages, Record, Trace};

/// One step; the number is that of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is read.
    Read(u32),
    /// It is written to.
    Write(u32),
    /// It was written to since its last access, where it is still local.
    Dirty(u32),
    /// Nobody needs what is in it.
    Free(u32),
}

/// The steps of a program.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// In order.
    pub steps: Vec<Step>,
    /// The page number of each page, in the page size of the steps: ascending.
    pub pages: Vec<u64>,
    /// The first so many of them are in remote memory before anything happens: none of a trace's.
    pub stored: u32,
    /// Logarithm of the page size.
    pub page_bits: u8,
    /// Nanoseconds that the program computed.
    pub computed_ns: u64,
    /// How many threads accessed pages.
    pub threads: u32,
    /// The most pages that were in use at a time.
    pub footprint: u32,
    /// Bytes that the program had asked for, and how many steps there were before it asked for more than
    /// before; ascending.
    pub asked: Vec<(u64, usize)>,
}

impl Steps {
    /// Those of a trace, in pages of 2^`page_bits` bytes; nothing when these are smaller than the trace's or
    /// above 2 MiB.
    pub fn new(trace: &Trace<'_>, page_bits: u8) -> Option<Steps> {
        Steps::told(trace, page_bits, |_, _| ())
    }

    /// The same; `told` is told each record, and the number of the first step that it makes.
    pub fn told(trace: &Trace<'_>, page_bits: u8, mut told: impl FnMut(usize, &Record)) -> Option<Steps> {
        if !(trace.header.page_bits..=21).contains(&page_bits) {
            return None;
        }
        let mut making = Making::new(trace, page_bits - trace.header.page_bits);
        let mut computed_ns = 0u64;
        let mut threads = [false; 256];
        let mut asked: Vec<(u64, usize)> = Vec::new();
        for record in trace.records() {
            computed_ns = computed_ns.saturating_add(record.computed_ns());
            told(making.steps.len(), &record);
            match record {
                Record::Read(of) | Record::Write(of) => {
                    threads[usize::from(of.thread)] = true;
                    let write = matches!(record, Record::Write(_)) || !trace.header.writes;
                    each(of).for_each(|page| making.access(page, write));
                }
                Record::Dirty(of) => each(of).for_each(|page| making.dirty(page)),
                Record::Free(of) => making.free(of),
                Record::Pass(_) => {}
                Record::Asked(bytes) => {
                    if asked.last().is_none_or(|(before, _)| bytes > *before) {
                        asked.push((bytes, making.steps.len()));
                    }
                }
            }
        }
        Some(Steps {
            steps: making.steps,
            pages: making.pages,
            stored: 0,
            page_bits,
            computed_ns,
            threads: threads.iter().filter(|seen| **seen).count() as u32,
            footprint: making.most,
            asked,
        })
    }

    /// Steps before the program has asked for more than this: it has not more than fits, so nothing is
    /// remote. None where the trace does not say what was asked for.
    pub fn while_it_fits(&self, bytes: u64) -> usize {
        let more = self.asked.iter().find(|(asked, _)| *asked > bytes);
        let all = if self.asked.is_empty() { 0 } else { self.steps.len() };
        more.map_or(all, |(_, steps)| *steps)
    }

    /// Accesses among the steps.
    pub fn accesses(&self) -> u64 {
        self.steps.iter().filter(|step| matches!(step, Step::Read(_) | Step::Write(_))).count() as u64
    }
}

fn each(of: Pages) -> impl Iterator<Item = u64> {
    of.page..=of.page + u64::from(of.pages - 1)
}

/// Steps on the way.
struct Making {
    /// The trace's pages that are ever accessed, ascending.
    small: Vec<u64>,
    /// A bit for each of them: it is in use.
    used: Vec<u64>,
    /// The page that each of them is in.
    of: Vec<u32>,
    /// How many of them are in use in each page.
    within: Vec<u32>,
    pages: Vec<u64>,
    steps: Vec<Step>,
    now: u32,
    most: u32,
}

impl Making {
    fn new(trace: &Trace<'_>, shift: u8) -> Making {
        let mut small = Vec::new();
        for record in trace.records() {
            if let Record::Read(of) | Record::Write(of) = record {
                small.extend(each(of));
            }
        }
        small.sort_unstable();
        small.dedup();
        let mut pages: Vec<u64> = Vec::new();
        let of = small.iter().map(|page| {
            if pages.last() != Some(&(page >> shift)) {
                pages.push(page >> shift);
            }
            pages.len() as u32 - 1
        });
        let of = of.collect();
        let used = vec![0; small.len().div_ceil(64)];
        Making { used, of, within: vec![0; pages.len()], pages, small, steps: Vec::new(), now: 0, most: 0 }
    }

    fn access(&mut self, page: u64, write: bool) {
        let at = self.small.binary_search(&page).expect("it is among them");
        let large = self.of[at];
        if self.used[at / 64] & 1 << (at % 64) == 0 {
            self.used[at / 64] |= 1 << (at % 64);
            self.within[large as usize] += 1;
            if self.within[large as usize] == 1 {
                self.now += 1;
                self.most = self.most.max(self.now);
            }
        }
        self.steps.push(if write { Step::Write(large) } else { Step::Read(large) });
    }

    /// One that is not in use has nothing to be written to.
    fn dirty(&mut self, page: u64) {
        let Ok(at) = self.small.binary_search(&page) else { return };
        if self.used[at / 64] & 1 << (at % 64) != 0 {
            self.steps.push(Step::Dirty(self.of[at]));
        }
    }

    fn free(&mut self, of: Pages) {
        let from = self.small.partition_point(|page| *page < of.page);
        let to = self.small.partition_point(|page| *page < of.page + u64::from(of.pages));
        let mut at = from;
        while at < to {
            // Those not in use are skipped 64 at a time.
            let ahead = self.used[at / 64] >> (at % 64);
            if ahead == 0 {
                at = (at / 64 + 1) * 64;
                continue;
            }
            at += ahead.trailing_zeros() as usize;
            if at < to {
                self.give_back(at);
            }
        }
    }

    fn give_back(&mut self, at: usize) {
        self.used[at / 64] &= !(1 << (at % 64));
        let large = self.of[at];
        self.within[large as usize] -= 1;
        if self.within[large as usize] == 0 {
            self.now -= 1;
            self.steps.push(Step::Free(large));
        }
    }
}
