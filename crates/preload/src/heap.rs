//! The program's heaps: dlmalloc on ranges of their own. Pages of what is freed are kept: they will be used
//! again.
//!
//! A thread takes the first heap that nobody is in, beginning with its own; an address tells whose it is.

use crate::config::{Config, config};
use crate::growing::{Addresses, Growing};
use crate::grown::USED;
use crate::handler;
use crate::layout::{self, HEAP_BYTES, HEAPS};
use crate::lock::{Held, Lock};
use dlmalloc::Dlmalloc;
use std::sync::atomic::Ordering::Relaxed;

/// Least bytes that a heap grows by.
const GROWTH: usize = 64 << 10;

/// Memory of one heap's range, from one end to the other.
pub(crate) struct Range {
    heap: usize,
}

/// How far a heap grows when it needs so many bytes: whole pages of remote memory.
fn growth(config: &Config, bytes: usize) -> usize {
    bytes.next_multiple_of(config.page.max(GROWTH))
}

impl Addresses for Range {
    fn more(&self, bytes: usize) -> Option<(usize, usize)> {
        let bytes = growth(config(), bytes);
        let used = USED[self.heap].load(Relaxed);
        if used + bytes > HEAP_BYTES {
            return None;
        }
        handler::give(bytes);
        USED[self.heap].store(used + bytes, Relaxed);
        Some((layout::start() + self.heap * HEAP_BYTES + used, bytes))
    }
}

/// A heap.
pub(crate) type Heap = Dlmalloc<Growing<Range>>;

const fn one(heap: usize) -> Lock<Heap> {
    Lock::new(Dlmalloc::new_with_allocator(Growing(Range { heap })))
}

const fn all() -> [Lock<Heap>; HEAPS] {
    let mut heaps = [const { one(0) }; HEAPS];
    let mut heap = 0;
    while heap < HEAPS {
        heaps[heap] = one(heap);
        heap += 1;
    }
    heaps
}

/// All of them.
pub(crate) static ALL: [Lock<Heap>; HEAPS] = all();

/// One to allocate from.
#[inline]
pub(crate) fn any() -> Held<'static, Heap> {
    // SAFETY: reads a register of this thread.
    let me = unsafe { libc::pthread_self() as usize };
    let own = (me >> 12).wrapping_mul(0x9e37_79b9) >> 16 & (HEAPS - 1);
    let tried = (0..HEAPS).find_map(|next| ALL[(own + next) % HEAPS].try_lock());
    tried.unwrap_or_else(|| ALL[own].lock())
}

/// The one that an offset into the program's memory belongs to.
#[inline]
pub(crate) fn of(offset: usize) -> Held<'static, Heap> {
    ALL[offset / HEAP_BYTES].lock()
}
