//! brk(2) and sbrk(2): a heap of the program's own that grows and shrinks at one end. Its addresses are a run
//! ([`crate::runs`]).
//!
//! The C library's malloc has one too and does not ask here; but ours takes its place.

use crate::config::is_on;
use crate::granted;
use crate::handler::forget;
use crate::layout::BASE;
use crate::lock::Lock;
use crate::raw;
use crate::runs::RUNS;
use crate::theirs::theirs;
use libc::{c_int, c_void, intptr_t};
use sys::userfaultfd::Range;

/// Addresses for it.
const MOST: usize = 64 << 30;

/// Its first address and the one behind its last.
pub(crate) static HEAP: Lock<Option<(usize, usize)>> = Lock::new(None);

fn failed() -> *mut c_void {
    raw::fail(libc::ENOMEM);
    libc::MAP_FAILED
}

/// Moves the end; the end before.
fn moved(to: impl FnOnce(usize) -> Option<usize>) -> Option<usize> {
    let mut heap = HEAP.quietly();
    let (start, end) = match *heap {
        Some(heap) => heap,
        None => {
            let run = RUNS.quietly().map(MOST)?;
            (run.start, run.start)
        }
    };
    let next = to(end).filter(|next| (start..=start + MOST).contains(next))?;
    let (had, has) = (end.next_multiple_of(BASE), next.next_multiple_of(BASE));
    *heap = Some((start, next));
    drop(heap);
    if has > had {
        granted::commit(Range { start: had, bytes: has - had });
    } else if has < had {
        forget(Range { start: has, bytes: had - has });
    }
    Some(end)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn sbrk(more: intptr_t) -> *mut c_void {
    if !is_on() {
        // SAFETY: the C library's function of this name has this form.
        let next = unsafe { theirs::<extern "C" fn(intptr_t) -> *mut c_void>(c"sbrk") };
        return next.map_or_else(failed, |next| next(more));
    }
    moved(|end| end.checked_add_signed(more)).map_or_else(failed, |end| end as *mut c_void)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn brk(to: *mut c_void) -> c_int {
    if !is_on() {
        // SAFETY: as above.
        let next = unsafe { theirs::<extern "C" fn(*mut c_void) -> c_int>(c"brk") };
        return next.map_or(-1, |next| next(to));
    }
    if moved(|_| Some(to as usize)).is_some() {
        return 0;
    }
    raw::fail(libc::ENOMEM);
    -1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, want};

    #[test]
    fn the_end_moves_within_its_addresses_only() {
        alone!({
            want("local=1073741824,rate=1");
            let start = sbrk(0) as usize;
            assert_eq!((sbrk(10_000) as usize, sbrk(0) as usize), (start, start + 10_000), "the end before");
            // SAFETY: bytes that the heap has by now.
            let last = unsafe { &mut *((start + 9_999) as *mut u8) };
            *last = 1;
            assert_eq!(sbrk(-9_999) as usize, start + 10_000);
            assert_eq!(
                (brk((start + 10_000) as *mut c_void), *last),
                (0, 0),
                "what it had given back is zero"
            );
            for wrong in [-10_001, MOST as isize, isize::MIN, isize::MAX] {
                assert_eq!(sbrk(wrong), libc::MAP_FAILED, "{wrong}");
            }
            assert_eq!((brk((start - 1) as *mut c_void), sbrk(0) as usize), (-1, start + 10_000));
        });
    }
}
