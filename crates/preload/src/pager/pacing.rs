//! The pace of a traced program: how much it has local, and what has to leave although there is room
//! ([`farmem::pace`]).

use super::Pager;
use crate::config::Config;
use crate::exchange::Exchange;
use crate::states::{self, HERE};
use crate::trip;
use farmem::cache::Evicted;
use farmem::pace::{FAULTS, Pace};
use farmem::watched::Watched;
use sys::cpu::{process_time, thread_time};

/// The pace, where a trace is asked about memories, and a cache that can become as large as the least of
/// them.
pub(super) fn begin(config: &Config, pages: u32) -> (Option<Pace>, Watched) {
    let least = config.asked.iter().min().filter(|_| config.trace);
    let mut cache = Watched::new(least.map_or(pages, |least| pages.max(*least)), config.policy);
    cache.limit(pages);
    (least.map(|_| Pace::new(pages, &config.asked)), cache)
}

/// Processor time of the program's threads in ns: of all but the one that handles faults, which is this one.
pub(super) fn computed_ns() -> u64 {
    process_time().saturating_sub(thread_time()).as_nanos() as u64
}

impl Pager {
    /// The page comes, and others leave for the pace.
    pub(super) fn keep_pace(&mut self, with: &Exchange, page: u64, since: u64) {
        let Some(pace) = &mut self.pace else { return };
        if pace.fault(page, &mut self.gone) {
            let (now, before) = ((since, computed_ns()), self.looked);
            // Some of what its threads did was to fault.
            let faulting = FAULTS * trip::program_ns();
            pace.look(now.0 - before.0, (now.1 - before.1).saturating_sub(faulting));
            self.looked = now;
        }
        self.cache.limit(pace.pages());
        if let Some(tracing) = &mut self.tracing {
            tracing.has_local(pace.pages());
        }
        while let Some(page) = self.gone.pop() {
            self.expel(with, page);
        }
    }

    /// The page leaves, if it is local and nobody waits for it or keeps it.
    fn expel(&mut self, with: &Exchange, page: u64) {
        if self.waiting.covers(page) {
            return;
        }
        let Some(gone) = self.cache.remove(page) else { return };
        let range = self.range(page);
        let mut dirty = gone.dirty;
        if states::any(range, HERE) {
            dirty = self.put_away(with, gone, 0);
        }
        if states::any(range, HERE) {
            self.cache.keep(Evicted { dirty, ..gone });
        } else {
            self.leave(range, dirty);
        }
    }
}
