//! What the program may do with parts of its range changes: they become usable, the kernel's, local for good,
//! or free to leave again.

use crate::config::config;
use crate::handler;
use crate::layout::BASE;
use crate::states::{self, PINNED};
use crate::{areas, elsewhere, pager};
use sys::userfaultfd::Range;

/// The program may use these from now on.
pub(crate) fn commit(these: Range) {
    let bytes = areas::UNUSED.quietly().remove(areas::addresses(these));
    if bytes > 0 {
        handler::give(bytes);
    }
}

/// The range is the kernel's from now on, and what it held is gone.
pub(crate) fn hand_over(these: Range) {
    handler::forget(these);
    pin(these);
    areas::UNUSED.quietly().remove(areas::addresses(these));
    areas::KERNEL.quietly().insert(areas::addresses(these));
}

/// The range stays local from now on, with what it holds; so does the rest of the pages of remote memory that
/// it touches.
pub(crate) fn pin(these: Range) {
    let all = areas::whole(these);
    while let Some(away) = pager::quietly(|pager| match pager {
        Some(pager) => pager.pin(all),
        None => {
            states::set(all, PINNED);
            None
        }
    }) {
        // A thread that waits for it may also write to it meanwhile.
        let page = elsewhere::real(Range { start: away & !(BASE - 1), bytes: BASE }).start;
        let _ = crate::raw::protect(page, BASE, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the program has this memory; it is fetched by being read.
        unsafe { (page as *const u8).read_volatile() };
    }
}

/// The range may leave again, as far as it is whole pages of remote memory; it holds nothing.
pub(crate) fn unpin(these: Range) {
    let page = config().page;
    let (first, end) = (these.start.next_multiple_of(page), (these.start + these.bytes) / page * page);
    if first < end {
        let inner = Range { start: first, bytes: end - first };
        pager::quietly(|_| {
            states::runs(inner, |state, run| {
                if state == PINNED {
                    states::set(run, states::NEW);
                }
            });
        });
    }
}
