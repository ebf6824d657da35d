//! mmap(2), munmap(2), mremap(2), mprotect(2), madvise(2) and mlock(2), as programs call them.
//!
//! Anonymous private mappings are runs of the program's memory ([`crate::runs`]); all others are the kernel's. Those that ask for a fixed
//! place, huge pages, a stack or locked memory are, too.

use crate::handler::{forget, is_remote};
use crate::layout::{self, ALL_HEAPS, BASE};
use crate::lock::Lock;
use crate::pager::PAGER;
use crate::raw;
use crate::runs::{self, RUNS};
use crate::start::is_on;
use libc::{c_int, c_void, off_t};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sys::userfaultfd::Range;

const BOTH: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// What a mapping may ask for that is ours.
const PLAIN: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE;

/// Whether protection of any page was ever changed.
pub(crate) static CODE: Lock<bool> = Lock::new(false);
static RUNS_CODE: AtomicBool = AtomicBool::new(false);

/// Whether the program may have memory that it writes to and runs.
pub(crate) fn runs_code() -> bool {
    RUNS_CODE.load(Relaxed)
}

fn told(result: std::io::Result<usize>) -> *mut c_void {
    match result {
        Ok(at) => at as *mut c_void,
        Err(error) => failed(error.raw_os_error().unwrap_or(libc::EINVAL)),
    }
}

fn failed(error: c_int) -> *mut c_void {
    raw::fail(error);
    libc::MAP_FAILED
}

fn done(result: std::io::Result<usize>) -> c_int {
    match result {
        Ok(_) => 0,
        Err(error) => {
            raw::fail(error.raw_os_error().unwrap_or(libc::EINVAL));
            -1
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn mmap(
    at: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    let plain = flags & !PLAIN == 0 && flags & libc::MAP_ANONYMOUS != 0 && protection & libc::PROT_EXEC == 0;
    if !is_on() || !plain || bytes == 0 {
        if flags & libc::MAP_FIXED != 0 && layout::touches(at as usize, bytes) {
            return fixed(at as usize, bytes, protection, flags);
        }
        return told(raw::map(at as usize, bytes, protection, flags, fd, offset));
    }
    let run = RUNS.lock().map(bytes);
    let Some(run) = run else { return failed(libc::ENOMEM) };
    let range = Range { start: run.start, bytes: runs::whole(bytes) };
    if run.used {
        forget(range);
    }
    if protection != BOTH {
        change(range, protection);
    }
    run.start as *mut c_void
}

/// A mapping in place of the program's memory: it is the same memory, and zero.
fn fixed(start: usize, bytes: usize, protection: c_int, flags: c_int) -> *mut c_void {
    if flags & libc::MAP_ANONYMOUS == 0 || flags & libc::MAP_PRIVATE == 0 || !start.is_multiple_of(BASE) {
        return failed(libc::EINVAL);
    }
    let range = Range { start, bytes: bytes.next_multiple_of(BASE) };
    forget(range);
    change(range, protection);
    start as *mut c_void
}

/// Pages that are changed can't be on their way: who copies one that may not be written to relies on that.
fn change(range: Range, protection: c_int) -> c_int {
    if protection & libc::PROT_WRITE != 0 && protection & libc::PROT_EXEC != 0 {
        RUNS_CODE.store(true, Relaxed);
    }
    *CODE.lock() = true;
    let _held = PAGER.lock();
    done(raw::protect(range.start, range.bytes, protection))
}

#[unsafe(no_mangle)]
extern "C" fn mprotect(at: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    if layout::touches(at as usize, bytes) {
        return change(Range { start: at as usize, bytes }, protection);
    }
    done(raw::protect(at as usize, bytes, protection))
}

#[unsafe(no_mangle)]
extern "C" fn munmap(at: *mut c_void, bytes: usize) -> c_int {
    let Some(offset) = layout::offset(at as usize) else { return done(raw::unmap(at as usize, bytes)) };
    if !offset.is_multiple_of(BASE) || bytes == 0 || offset < ALL_HEAPS {
        raw::fail(libc::EINVAL);
        return -1;
    }
    give_back(Range { start: at as usize, bytes: bytes.next_multiple_of(BASE) });
    0
}

/// Pages are the program's no longer.
fn give_back(range: Range) {
    forget(range);
    if *CODE.lock() {
        change(range, BOTH);
    }
    RUNS.lock().unmap(range);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mremap(
    at: *mut c_void,
    bytes: usize,
    new_bytes: usize,
    flags: c_int,
    to: *mut c_void,
) -> *mut c_void {
    let start = at as usize;
    if layout::offset(start).is_none() {
        let fixed = flags & libc::MREMAP_FIXED != 0;
        if fixed && layout::touches(to as usize, new_bytes) {
            return failed(libc::EINVAL);
        }
        return told(raw::remap(start, bytes, new_bytes, flags, to as usize));
    }
    if !start.is_multiple_of(BASE) || new_bytes == 0 || bytes == 0 || flags & !libc::MREMAP_MAYMOVE != 0 {
        return failed(libc::EINVAL);
    }
    let (old, new) = (bytes.next_multiple_of(BASE), new_bytes.next_multiple_of(BASE));
    if new <= old {
        if new < old {
            give_back(Range { start: start + new, bytes: old - new });
        }
        return at;
    }
    let more = Range { start: start + old, bytes: new - old };
    let behind = Range { start: start + runs::whole(old), bytes: runs::whole(new) - runs::whole(old) };
    if behind.bytes == 0 || RUNS.lock().extend(behind.start, behind.bytes) {
        forget(more);
        return at;
    }
    if flags & libc::MREMAP_MAYMOVE == 0 {
        return failed(libc::ENOMEM);
    }
    let moved = mmap(std::ptr::null_mut(), new, BOTH, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
    if moved != libc::MAP_FAILED {
        // SAFETY: both are mapped, as long, and apart; the program may not use the old one any more.
        unsafe { std::ptr::copy_nonoverlapping(at.cast::<u8>(), moved.cast(), bytes) };
        give_back(Range { start, bytes: old });
    }
    moved
}

#[unsafe(no_mangle)]
extern "C" fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    let start = at as usize;
    if !layout::touches(start, bytes) {
        return done(raw::advise(start, bytes, advice));
    }
    if !start.is_multiple_of(BASE) {
        raw::fail(libc::EINVAL);
        return -1;
    }
    match advice {
        libc::MADV_DONTNEED | libc::MADV_FREE => forget(Range { start, bytes: bytes.next_multiple_of(BASE) }),
        // Advice on how the kernel should keep pages: once they are remote, that is not its business.
        libc::MADV_HUGEPAGE | libc::MADV_COLD | libc::MADV_PAGEOUT if is_remote() => {}
        _ => return done(raw::advise(start, bytes, advice)),
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn mlock(at: *const c_void, bytes: usize) -> c_int {
    if is_remote() && layout::touches(at as usize, bytes) {
        // Remote memory can't be kept local.
        raw::fail(libc::ENOMEM);
        return -1;
    }
    // SAFETY: the kernel checks the addresses.
    unsafe { libc::syscall(libc::SYS_mlock, at, bytes) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn mlockall(flags: c_int) -> c_int {
    if is_on() {
        // It would ask for all addresses that are reserved.
        raw::fail(libc::ENOMEM);
        return -1;
    }
    // SAFETY: a number.
    unsafe { libc::syscall(libc::SYS_mlockall, flags) as c_int }
}
