//! malloc(3), free(3), calloc(3), realloc(3), posix_memalign(3) and their kin, as every program calls them.
//!
//! Each exported function hands over the address that it returns to: what the C library and the loader
//! allocate stays local.

use crate::config::is_on;
use crate::granted;
use crate::handler::forget;
use crate::layout::{self, ALL_HEAPS, BASE};
use crate::runs::{self, RUNS, Run};
use crate::{callers, heap, private, raw, signals, stacks};
use libc::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use sys::userfaultfd::Range;

/// From so many bytes on, an allocation is a run of pages.
const LARGE: usize = 1 << 20;
/// What malloc(3) aligns to.
const ALIGN: usize = 16;

fn is_remote_to_be(caller: usize) -> bool {
    is_on() && !callers::is_system(caller)
}

/// Memory, or null with errno.
fn allocate(bytes: usize, align: usize, zero: bool, caller: usize) -> *mut u8 {
    let at = if !is_remote_to_be(caller) {
        let _waiting = signals::quiet();
        let mut heap = private::HEAP.lock();
        // SAFETY: any size and a power of two.
        unsafe { if zero { heap.calloc(bytes, align) } else { heap.malloc(bytes, align) } }
    } else if bytes >= LARGE {
        large(bytes, align, zero)
    } else {
        let mut heap = heap::any();
        // SAFETY: as above.
        unsafe { if zero { heap.calloc(bytes, align) } else { heap.malloc(bytes, align) } }
    };
    if at.is_null() {
        raw::fail(libc::ENOMEM);
    }
    at
}

fn large(bytes: usize, align: usize, zero: bool) -> *mut u8 {
    let run = RUNS.quietly().allocate(bytes, align.max(BASE));
    let Some(Run { start, used }) = run else { return ptr::null_mut() };
    granted::commit(Range { start, bytes: runs::whole(bytes) });
    if zero && used {
        forget(Range { start, bytes: bytes.next_multiple_of(BASE) });
    }
    start as *mut u8
}

/// Where memory that malloc gave lies.
enum Place {
    Heap(usize),
    Run,
    Private,
    /// Nobody's here: the loader's, from before it found this library.
    Unknown,
}

fn place(address: usize) -> Place {
    match layout::offset(address) {
        Some(offset) if offset < ALL_HEAPS => Place::Heap(offset),
        Some(_) => Place::Run,
        None if private::owns(address) => Place::Private,
        None => Place::Unknown,
    }
}

/// Bytes that may be used, by the head of dlmalloc's chunk.
fn usable(at: NonNull<u8>) -> usize {
    match place(at.as_ptr() as usize) {
        Place::Heap(_) | Place::Private => {
            // SAFETY: dlmalloc has the chunk's size, with three bits of its own, in the word before; and
            // another's in the next chunk's.
            let head = unsafe { at.cast::<usize>().sub(1).read() };
            (head & !7) - size_of::<usize>()
        }
        Place::Run => RUNS.quietly().size(at.as_ptr() as usize),
        Place::Unknown => 0,
    }
}

fn give_back(at: NonNull<u8>) {
    let address = at.as_ptr() as usize;
    match place(address) {
        // SAFETY: it is of this heap, and the program no longer uses it.
        Place::Heap(offset) => unsafe { heap::of(offset).free(at.as_ptr(), usable(at), 1) },
        Place::Private => {
            let _waiting = signals::quiet();
            // SAFETY: as above.
            unsafe { private::HEAP.lock().free(at.as_ptr(), usable(at), 1) }
        }
        Place::Run => {
            if stacks::KEPT.load(Relaxed) {
                let run = Range { start: address, bytes: RUNS.quietly().size(address) };
                forget(run);
                granted::unpin(run);
            }
            RUNS.quietly().release(address);
        }
        Place::Unknown => {}
    }
}

fn resize(at: NonNull<u8>, bytes: usize, caller: usize) -> *mut u8 {
    let had = usable(at);
    let resized = match place(at.as_ptr() as usize) {
        // SAFETY: it is of this heap; on success the program no longer uses the old one.
        Place::Heap(offset) if bytes < LARGE => unsafe {
            heap::of(offset).realloc(at.as_ptr(), had, 1, bytes)
        },
        Place::Private => {
            let _waiting = signals::quiet();
            // SAFETY: as above.
            unsafe { private::HEAP.lock().realloc(at.as_ptr(), had, 1, bytes) }
        }
        Place::Run if bytes >= LARGE / 2 && RUNS.quietly().resize(at.as_ptr() as usize, bytes) => {
            granted::commit(Range { start: at.as_ptr() as usize, bytes: runs::whole(bytes) });
            at.as_ptr()
        }
        _ => ptr::null_mut(),
    };
    if !resized.is_null() {
        return resized;
    }
    let new = allocate(bytes, ALIGN, false, caller);
    if !new.is_null() {
        // SAFETY: both are as long, and apart.
        unsafe { ptr::copy_nonoverlapping(at.as_ptr(), new, had.min(bytes)) };
        give_back(at);
    }
    new
}

fn aligned(align: usize, bytes: usize, caller: usize) -> *mut u8 {
    if !align.is_power_of_two() {
        raw::fail(libc::EINVAL);
        return ptr::null_mut();
    }
    allocate(bytes, align.max(ALIGN), false, caller)
}

extern "C" fn malloc_for(bytes: usize, caller: usize) -> *mut u8 {
    allocate(bytes, ALIGN, false, caller)
}

extern "C" fn calloc_for(count: usize, bytes: usize, caller: usize) -> *mut u8 {
    match count.checked_mul(bytes) {
        Some(bytes) => allocate(bytes, ALIGN, true, caller),
        None => {
            raw::fail(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

extern "C" fn realloc_for(at: *mut u8, bytes: usize, caller: usize) -> *mut u8 {
    match NonNull::new(at) {
        None => allocate(bytes, ALIGN, false, caller),
        Some(at) if bytes == 0 => {
            give_back(at);
            ptr::null_mut()
        }
        Some(at) => resize(at, bytes, caller),
    }
}

extern "C" fn reallocarray_for(at: *mut u8, count: usize, bytes: usize, caller: usize) -> *mut u8 {
    match count.checked_mul(bytes) {
        Some(bytes) => realloc_for(at, bytes, caller),
        None => {
            raw::fail(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

extern "C" fn memalign_for(align: usize, bytes: usize, caller: usize) -> *mut u8 {
    aligned(align.checked_next_power_of_two().unwrap_or(0), bytes, caller)
}

extern "C" fn aligned_alloc_for(align: usize, bytes: usize, caller: usize) -> *mut u8 {
    aligned(align, bytes, caller)
}

extern "C" fn posix_memalign_for(to: *mut *mut u8, align: usize, bytes: usize, caller: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    let at = allocate(bytes, align.max(ALIGN), false, caller);
    if at.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's place for the result.
    unsafe { to.write(at) };
    0
}

extern "C" fn valloc_for(bytes: usize, caller: usize) -> *mut u8 {
    aligned(BASE, bytes, caller)
}

extern "C" fn pvalloc_for(bytes: usize, caller: usize) -> *mut u8 {
    aligned(BASE, bytes.next_multiple_of(BASE), caller)
}

/// A function of the C library that calls ours with one argument more: the address that it returns to.
macro_rules! with_caller {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $ours:ident, $x86:literal, $arm:literal) => {
        #[unsafe(naked)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(concat!("mov ", $x86, ", [rsp]"), "jmp {ours}", ours = sym $ours);
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(concat!("mov ", $arm, ", x30"), "b {ours}", ours = sym $ours);
        }
    };
}

with_caller!(malloc(bytes: usize) -> *mut u8, malloc_for, "rsi", "x1");
with_caller!(calloc(count: usize, bytes: usize) -> *mut u8, calloc_for, "rdx", "x2");
with_caller!(realloc(at: *mut u8, bytes: usize) -> *mut u8, realloc_for, "rdx", "x2");
with_caller!(reallocarray(at: *mut u8, count: usize, bytes: usize) -> *mut u8, reallocarray_for, "rcx", "x3");
with_caller!(memalign(align: usize, bytes: usize) -> *mut u8, memalign_for, "rdx", "x2");
with_caller!(aligned_alloc(align: usize, bytes: usize) -> *mut u8, aligned_alloc_for, "rdx", "x2");
with_caller!(posix_memalign(to: *mut *mut u8, align: usize, bytes: usize) -> c_int, posix_memalign_for, "rcx", "x3");
with_caller!(valloc(bytes: usize) -> *mut u8, valloc_for, "rsi", "x1");
with_caller!(pvalloc(bytes: usize) -> *mut u8, pvalloc_for, "rsi", "x1");

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn free(at: *mut c_void) {
    if let Some(at) = NonNull::new(at.cast()) {
        // SAFETY: reads and restores this thread's error number: free(3) leaves it alone.
        let before = unsafe { *libc::__errno_location() };
        give_back(at);
        raw::fail(before);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    NonNull::new(at.cast()).map_or(0, usable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alone, want};

    /// Bytes that say where they belong.
    fn fill(at: *mut u8, bytes: usize) {
        // SAFETY: as many were allocated.
        unsafe { std::slice::from_raw_parts_mut(at, bytes) }
            .iter_mut()
            .enumerate()
            .for_each(|(at, byte)| *byte = at as u8);
    }

    fn is_filled(at: *mut u8, bytes: usize) -> bool {
        // SAFETY: as many were allocated.
        unsafe { std::slice::from_raw_parts(at, bytes) }
            .iter()
            .enumerate()
            .all(|(at, byte)| *byte == at as u8)
    }

    #[test]
    fn what_is_resized_keeps_its_bytes_wherever_it_lies() {
        alone!({
            want("local=1073741824,rate=1");
            let ours = fill as *const () as usize;
            let mut at = malloc_for(1, ours);
            let mut had = 1;
            fill(at, had);
            for bytes in [100, 70_000, LARGE, 3 * LARGE, LARGE / 2, 5000, 40] {
                at = realloc_for(at, bytes, ours);
                assert!(is_filled(at, had.min(bytes)), "{had} to {bytes} bytes");
                // SAFETY: it was allocated.
                assert!(unsafe { malloc_usable_size(at.cast()) } >= bytes);
                fill(at, bytes);
                had = bytes;
            }
            assert!(realloc_for(at, 0, ours).is_null());
        });
    }

    #[test]
    fn the_c_librarys_memory_stays_local_and_the_programs_does_not() {
        alone!({
            let ours = fill as *const () as usize;
            assert!(matches!(place(malloc_for(10, ours) as usize), Place::Private), "nothing is wanted yet");
            want("local=1073741824,rate=1");
            callers::find();
            // SAFETY: a C string.
            let theirs = unsafe { libc::dlsym(libc::RTLD_NEXT, c"getpid".as_ptr()) as usize };
            assert!(matches!(place(malloc_for(10, theirs) as usize), Place::Private));
            assert!(matches!(place(malloc_for(10, ours) as usize), Place::Heap(_)));
            assert!(matches!(place(malloc_for(LARGE, ours) as usize), Place::Run));
            assert!(matches!(place(ours), Place::Unknown));
        });
    }

    #[test]
    fn alignments_sizes_and_zeros_are_as_they_are_asked_for() {
        alone!({
            want("local=1073741824,rate=1");
            let ours = fill as *const () as usize;
            for align in [16, 64, 4096, 1 << 16, 1 << 21] {
                for bytes in [1, 5000, LARGE + 1] {
                    let at = aligned_alloc_for(align, bytes, ours);
                    assert!((at as usize).is_multiple_of(align), "{bytes} bytes at {align}");
                    fill(at, bytes);
                    // SAFETY: it was allocated above, and is not used again.
                    unsafe { free(at.cast()) };
                }
            }
            for bytes in [1, 5000, LARGE + 1] {
                let at = calloc_for(1, bytes, ours);
                // SAFETY: as many were allocated.
                assert!(unsafe { std::slice::from_raw_parts(at, bytes) }.iter().all(|byte| *byte == 0));
            }
            assert!(
                calloc_for(usize::MAX, 2, ours).is_null()
                    && reallocarray_for(ptr::null_mut(), 1 << 63, 2, ours).is_null()
            );
            assert!(malloc_for(layout::BYTES, ours).is_null() && aligned_alloc_for(48, 1, ours).is_null());
            let mut at = ptr::null_mut();
            assert_eq!(
                [3, 4, 24].map(|align| posix_memalign_for(&mut at, align, 1, ours)),
                [libc::EINVAL; 3]
            );
            assert_eq!((posix_memalign_for(&mut at, 8, 1, ours), at.is_null()), (0, false));
        });
    }
}
