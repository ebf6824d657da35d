//! How pages leave, or only the program's reach.
//!
//! A page that leaves is hidden first, and what is hidden leaves without a system call. So those that leave
//! next are hidden along with it where they lie behind it: one look for writes and one move are for all of
//! them, and each still leaves when its turn comes.

use super::Pager;
use crate::exchange::Exchange;
use crate::layout::BASE;
use crate::raw;
use crate::states::{self, HERE, HIDDEN, THERE};
use farmem::cache::Evicted;
use sys::userfaultfd::Range;

/// Most pages that are taken out of the program's reach at a fault.
const AT_ONCE: usize = 8;
/// Most bytes that leave or are hidden along: of larger pages the call is not what takes time.
const ALONG_BYTES: usize = AT_ONCE * BASE;
/// And the part of local memory that this may be.
const PARTS: usize = 8;

impl Pager {
    /// Pages are taken out of the program's reach, though they stay local: their next access will be seen.
    pub(super) fn hide(&mut self, with: &Exchange) {
        for _ in 0..AT_ONCE {
            let Some(next) = self.cache.watch() else { return };
            if self.waiting.covers(next.page) {
                self.cache.keep(next);
                continue;
            }
            let dirty = self.put_away(with, next, 0);
            if states::any(self.range(next.page), HERE) {
                self.cache.keep(Evicted { dirty, ..next });
            }
        }
    }

    /// A page leaves; a dirty one has to be sent back.
    pub(super) fn make_room(&mut self, with: &Exchange) -> Evicted {
        let mut left = None;
        while left.is_none() {
            let Some(gone) = self.cache.evict() else { break };
            let range = self.range(gone.page);
            let mut dirty = gone.dirty;
            if states::any(range, HERE) {
                let most = (ALONG_BYTES >> self.bits).min(self.cache.capacity() as usize / PARTS);
                let behind = self.cache.following(gone.page).take(most.saturating_sub(1)).count();
                dirty = self.put_away(with, gone, behind);
            }
            if !states::any(range, HERE) && !self.waiting.covers(gone.page) {
                self.leave(range, dirty);
                left = Some(Evicted { dirty, ..gone });
            } else if self.stuck.len() < self.stuck.capacity() {
                self.stuck.push(Evicted { dirty, ..gone });
            } else {
                break;
            }
        }
        for page in self.stuck.drain(..) {
            self.cache.fault(page.page, page.dirty);
        }
        left.unwrap_or_else(|| {
            raw::die("half of the local memory is in use by devices, or on its way: give it more")
        })
    }

    /// Hides a page, and so many behind it; whether somebody wrote to the first. What can't be hidden stays
    /// within reach.
    pub(super) fn put_away(&mut self, with: &Exchange, first: Evicted, behind: usize) -> bool {
        let all = Range { start: self.range(first.page).start, bytes: (1 + behind) << self.bits };
        let mut known = [first.dirty; AT_ONCE];
        for (known, page) in known[1..].iter_mut().zip(self.cache.following(first.page).take(behind)) {
            *known = page.dirty;
        }
        let mut dirty = known;
        if known[..=behind].contains(&false) {
            with.written(all, |address| dirty[(address - all.start) >> self.bits] = true);
        }
        for (page, (dirty, known)) in (first.page..).zip(dirty.iter().zip(known)).take(1 + behind) {
            if *dirty && !known {
                self.cache.mark_dirty(page);
                if let Some(tracing) = &mut self.tracing {
                    tracing.wrote(page);
                }
            }
        }
        self.store.vacate(all);
        with.hide(all);
        dirty[0]
    }

    /// What is hidden of the range leaves, and the store has it.
    pub(super) fn leave(&mut self, range: Range, dirty: bool) {
        states::runs(range, |state, run| {
            if state == HIDDEN {
                states::set(run, THERE);
                self.store.keep(run, dirty);
            }
        });
    }
}
