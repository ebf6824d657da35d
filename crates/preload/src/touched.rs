//! How much memory the program has in use at most, as long as all of it is local and nobody sees its page
//! faults: mincore(2), /proc/self/statm.
//!
//! At its end the pages are counted. What it gave back before is seen in the size of the process, which is
//! looked at before much is given back; what of that size is not the program's memory is known at the end.

use crate::config::{is_on, is_remote};
use crate::layout::BASE;
use crate::stats::stats;
use crate::{areas, elsewhere, grown, runs};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use sys::userfaultfd::Range;

/// So many bytes are given back between two looks.
const BETWEEN: usize = 1 << 20;
/// Pages that are counted at a time.
const AT_ONCE: usize = 4096;

static GIVEN_BACK: AtomicUsize = AtomicUsize::new(BETWEEN);
/// Most anonymous memory of the process that was seen.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The program is about to give so many bytes back.
pub(crate) fn before(bytes: usize) {
    if GIVEN_BACK.fetch_add(bytes, Relaxed) + bytes >= BETWEEN {
        GIVEN_BACK.store(0, Relaxed);
        MOST.fetch_max(anonymous().unwrap_or(0), Relaxed);
    }
}

/// Bytes of anonymous memory that the process has.
fn anonymous() -> Option<usize> {
    let mut text = [0; 128];
    // SAFETY: the kernel writes so many bytes at most.
    let read = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(read).ok()?
    };
    let mut pages =
        std::str::from_utf8(&text[..read]).ok()?.split(' ').skip(1).map_while(|word| word.parse().ok());
    let (all, shared): (usize, usize) = (pages.next()?, pages.next()?);
    Some(all.saturating_sub(shared) * BASE)
}

fn present(of: Range) -> usize {
    let mut there = [0u8; AT_ONCE];
    let mut pages = 0;
    for start in (of.start..of.start + of.bytes).step_by(AT_ONCE * BASE) {
        let bytes = (of.start + of.bytes - start).min(AT_ONCE * BASE);
        // SAFETY: a byte is written for each page, and there are as many.
        if unsafe { libc::mincore(start as *mut libc::c_void, bytes, there.as_mut_ptr()) } == 0 {
            pages += there[..bytes / BASE].iter().filter(|page| **page & 1 == 1).count();
        }
    }
    pages * BASE
}

extern "C" fn end() {
    if !is_on() || is_remote() {
        return;
    }
    let ranges = grown::ranges().chain(areas::used(runs::range()).into_iter().flat_map(areas::ours));
    let mut program = 0;
    ranges.for_each(|range| elsewhere::each_part(range, |part| program += present(elsewhere::real(part))));
    let others = anonymous().unwrap_or(0).saturating_sub(program);
    let most = MOST.load(Relaxed).saturating_sub(others).max(program);
    stats().touched_bytes.raise_to(most as u64);
}

/// The loader calls what is listed in this section when the program ends.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
