//! mmap(2), munmap(2), mremap(2), mprotect(2), madvise(2) and mlock(2), as programs call them: by name, by
//! their names with 64, by number.
//!
//! Anonymous private mappings are runs of the program's memory ([`crate::runs`]), or places elsewhere when
//! the program chose their address ([`crate::elsewhere`]): in a way that leaves no choice, or by a hint that
//! it is known to depend on ([`crate::hints`]). All others are the kernel's, and so are those that ask for
//! huge pages, locked memory, or memory to run code from. A program may put one of these into what it has
//! ([`crate::areas`]).

use crate::areas;
use crate::config::{is_on, is_remote};
use crate::elsewhere::{self, real};
use crate::granted;
use crate::handler::forget;
use crate::hints::HINTS;
use crate::layout::{self, ALL_HEAPS, BASE};
use crate::pager;
use crate::raw;
use crate::runs::{self, RUNS};
use libc::{c_int, c_void, off_t};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sys::userfaultfd::Range;

const BOTH: c_int = libc::PROT_READ | libc::PROT_WRITE;
const ANONYMOUS: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
/// What a mapping may ask for that is ours.
const PLAIN: c_int =
    ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_POPULATE | libc::MAP_NONBLOCK | libc::MAP_STACK;
/// At an address that the program chose.
const AT: c_int = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
/// Largest reservation that is ours: others would leave no addresses.
const RESERVED_MAX: usize = 1 << 40;

/// Whether protection of any page was ever changed.
static CHANGED: AtomicBool = AtomicBool::new(false);

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
        Err(error) => refused(error.raw_os_error().unwrap_or(libc::EINVAL)),
    }
}

fn refused(error: c_int) -> c_int {
    raw::fail(error);
    -1
}

/// Whether a mapping may be ours.
fn is_plain(protection: c_int, flags: c_int) -> bool {
    flags & !PLAIN == 0 && flags & ANONYMOUS == ANONYMOUS && protection & libc::PROT_EXEC == 0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn mmap(
    at: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    let kernels = || told(raw::map(at as usize, bytes, protection, flags, fd, offset));
    if flags & libc::MAP_FIXED != 0 && bytes > 0 && layout::touches(at as usize, bytes) {
        if !(at as usize).is_multiple_of(BASE) {
            return failed(libc::EINVAL);
        }
        let range = areas::clipped(at as usize, bytes);
        if range.start == at as usize && is_plain(protection, flags & !libc::MAP_FIXED) {
            return fixed(range, protection, flags);
        }
        granted::hand_over(range);
        return kernels();
    }
    if flags & AT != 0 && is_plain(protection, flags & !AT) {
        return placed(at as usize, bytes, protection, flags);
    }
    if flags & libc::MAP_FIXED != 0 {
        elsewhere::leave(at as usize, bytes);
    }
    let ours = is_on() && bytes > 0 && bytes <= RESERVED_MAX && is_plain(protection, flags);
    let is_hint = ours && !at.is_null() && protection == libc::PROT_NONE;
    if is_hint && let Some(start) = HINTS.follow(at as usize, bytes, flags) {
        return start as *mut c_void;
    }
    let Some(run) = ours.then(|| RUNS.quietly().map(bytes)).flatten() else { return kernels() };
    let range = Range { start: run.start, bytes: runs::whole(bytes) };
    if run.used {
        forget(range);
    }
    protect_new(range, protection, run.used);
    if is_hint {
        HINTS.not_followed(run.start, bytes);
    }
    run.start as *mut c_void
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn mmap64(
    at: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    mmap(at, bytes, protection, flags, fd, offset)
}

/// A mapping elsewhere, at an address that the program chose.
fn placed(at: usize, bytes: usize, protection: c_int, flags: c_int) -> *mut c_void {
    if flags & libc::MAP_FIXED != 0 && at.is_multiple_of(BASE) {
        if let Some(range) = elsewhere::within(at, bytes) {
            return fixed(range, protection, flags);
        }
        elsewhere::leave(at, bytes);
    }
    // Pages come as they are touched.
    let flags = flags & !libc::MAP_POPULATE;
    match raw::map(at, bytes, protection, flags, -1, 0) {
        Ok(start) => {
            if let Some(place) = elsewhere::take(start, bytes)
                && protection != libc::PROT_NONE
            {
                granted::commit(place);
            }
            start as *mut c_void
        }
        failed => told(failed),
    }
}

/// A mapping in place of the program's memory: it is the same memory, and zero. What is the kernel's remains
/// so.
fn fixed(range: Range, protection: c_int, flags: c_int) -> *mut c_void {
    for part in areas::kernels(range) {
        if let Err(error) = raw::map(real(part).start, part.bytes, protection, flags, -1, 0) {
            return failed(error.raw_os_error().unwrap_or(libc::EINVAL));
        }
    }
    for part in areas::ours(range) {
        forget(part);
        granted::unpin(part);
        protect_new(part, protection, true);
    }
    real(range).start as *mut c_void
}

/// Pages hold nothing yet.
fn protect_new(range: Range, protection: c_int, had_other: bool) {
    if protection != libc::PROT_NONE {
        granted::commit(range);
    }
    if protection != BOTH || had_other && CHANGED.load(Relaxed) {
        change(range, protection);
    }
}

/// Pages that are changed can't be on their way: a copy of one that may not be written to relies on that.
fn change(range: Range, protection: c_int) -> c_int {
    CHANGED.store(true, Relaxed);
    pager::quietly(|_| done(raw::protect(real(range).start, range.bytes, protection)))
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn mprotect(at: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    let start = at as usize;
    let parts = parts(start, bytes);
    if parts.is_empty() || !start.is_multiple_of(BASE) {
        return done(raw::protect(start, bytes, protection));
    }
    for part in parts {
        if protection & libc::PROT_EXEC != 0 {
            // A program that writes to code and runs it can't be kept from writing while a page leaves.
            granted::pin(part);
        }
        if protection != libc::PROT_NONE {
            granted::commit(part);
        }
    }
    change(Range { start, bytes }, protection)
}

/// What of these bytes is the program's memory, as its range has it.
fn parts(start: usize, bytes: usize) -> Vec<Range> {
    if layout::touches(start, bytes) {
        return vec![areas::clipped(start, bytes)];
    }
    elsewhere::parts(start, bytes)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pkey_mprotect(at: *mut c_void, bytes: usize, protection: c_int, key: c_int) -> c_int {
    if key == -1 {
        return mprotect(at, bytes, protection);
    }
    for part in parts(at as usize, bytes) {
        // A key is a thread's: the one that moves pages has none.
        granted::pin(part);
        granted::commit(part);
    }
    // SAFETY: the kernel checks the addresses.
    unsafe { libc::syscall(libc::SYS_pkey_mprotect, at, bytes, protection, key) as c_int }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn munmap(at: *mut c_void, bytes: usize) -> c_int {
    let start = at as usize;
    HINTS.given_back(start, bytes);
    let Some(offset) = layout::offset(start) else {
        if start.is_multiple_of(BASE) {
            elsewhere::leave(start, bytes);
        }
        return done(raw::unmap(start, bytes));
    };
    if !offset.is_multiple_of(BASE) || bytes == 0 || offset < ALL_HEAPS {
        return refused(libc::EINVAL);
    }
    let range = areas::clipped(start, bytes);
    for part in areas::kernels(range) {
        let _ = raw::unmap(part.start, part.bytes);
    }
    areas::ours(range).into_iter().for_each(give_back);
    0
}

/// Pages are the program's no longer.
fn give_back(range: Range) {
    forget(range);
    areas::used(range).into_iter().for_each(granted::unpin);
    if CHANGED.load(Relaxed) {
        change(range, BOTH);
    }
    RUNS.quietly().unmap(range);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn mremap(
    at: *mut c_void,
    bytes: usize,
    new_bytes: usize,
    flags: c_int,
    to: *mut c_void,
) -> *mut c_void {
    let start = at as usize;
    let fixed = flags & libc::MREMAP_FIXED != 0;
    let range = areas::clipped(start, bytes);
    if layout::offset(start).is_none() || !areas::kernels(range).is_empty() {
        elsewhere::let_go(start, bytes);
        if fixed && layout::touches(to as usize, new_bytes) {
            granted::hand_over(areas::clipped(to as usize, new_bytes));
        } else if fixed {
            elsewhere::leave(to as usize, new_bytes);
        }
        return told(raw::remap(start, bytes, new_bytes, flags, to as usize));
    }
    let known = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    let may_move = flags & libc::MREMAP_MAYMOVE != 0;
    let keeps = flags & libc::MREMAP_DONTUNMAP != 0;
    if !start.is_multiple_of(BASE) || new_bytes == 0 || bytes == 0 || flags & !known != 0 {
        return failed(libc::EINVAL);
    }
    let (old, new) = (bytes.next_multiple_of(BASE), new_bytes.next_multiple_of(BASE));
    if (fixed || keeps) && (!may_move || keeps && old != new) {
        return failed(libc::EINVAL);
    }
    if !fixed && !keeps && stretch(start, old, new) {
        RUNS.quietly().stretched(start, new);
        return at;
    }
    if !may_move {
        return failed(libc::ENOMEM);
    }
    let place = if fixed { (to, ANONYMOUS | libc::MAP_FIXED) } else { (std::ptr::null_mut(), ANONYMOUS) };
    let moved = mmap(place.0, new, BOTH, place.1, -1, 0);
    if moved != libc::MAP_FAILED {
        // SAFETY: both are mapped, as long, and apart; the program may not use the old one any more.
        unsafe { std::ptr::copy_nonoverlapping(at.cast::<u8>(), moved.cast(), bytes.min(new_bytes)) };
        let left = Range { start, bytes: old };
        if keeps { forget(left) } else { give_back(left) }
    }
    moved
}

/// Makes a mapping shorter, or longer where what follows is free.
fn stretch(start: usize, old: usize, new: usize) -> bool {
    if new <= old {
        if new < old {
            give_back(Range { start: start + new, bytes: old - new });
        }
        return true;
    }
    let behind = Range { start: start + runs::whole(old), bytes: runs::whole(new) - runs::whole(old) };
    if behind.bytes > 0 && !RUNS.quietly().extend(behind.start, behind.bytes) {
        return false;
    }
    granted::commit(behind);
    forget(Range { start: start + old, bytes: new - old });
    true
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) extern "C" fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    let start = at as usize;
    let parts = parts(start, bytes);
    if parts.is_empty() {
        return done(raw::advise(start, bytes, advice));
    }
    if !start.is_multiple_of(BASE) {
        return refused(libc::EINVAL);
    }
    let each = |part: Range| {
        let kernels = areas::kernels(part).into_iter().map(|part| kernel_advise(part, advice));
        let ours = areas::ours(part).into_iter().map(|part| advise(part, advice));
        ours.chain(kernels).fold(0, c_int::min)
    };
    let told = parts.iter().map(|part| each(*part)).fold(0, c_int::min);
    let around = if layout::touches(start, bytes) { vec![] } else { elsewhere::around(start, bytes) };
    around.into_iter().map(|part| done(raw::advise(part.start, part.bytes, advice))).fold(told, c_int::min)
}

fn kernel_advise(range: Range, advice: c_int) -> c_int {
    done(raw::advise(real(range).start, range.bytes, advice))
}

/// On memory of the program's.
fn advise(range: Range, advice: c_int) -> c_int {
    match advice {
        libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_DONTNEED_LOCKED => forget(range),
        // Advice on how the kernel should keep pages: once they are remote, that is not its business.
        libc::MADV_HUGEPAGE
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT
        | libc::MADV_MERGEABLE
        | libc::MADV_COLLAPSE
            if is_remote() => {}
        // A child that has a copy of it too does no harm; one without it would find addresses that it
        // believes it has.
        libc::MADV_DONTFORK | libc::MADV_DOFORK => {}
        // The kernel can't wipe what it does not see.
        libc::MADV_WIPEONFORK => {
            granted::pin(range);
            return kernel_advise(range, advice);
        }
        _ => return kernel_advise(range, advice),
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn mlock(at: *const c_void, bytes: usize) -> c_int {
    lock(libc::SYS_mlock, at, bytes, 0)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn mlock2(at: *const c_void, bytes: usize, flags: libc::c_uint) -> c_int {
    lock(libc::SYS_mlock2, at, bytes, flags)
}

fn lock(call: libc::c_long, at: *const c_void, bytes: usize, flags: libc::c_uint) -> c_int {
    if is_remote() && !parts(at as usize, bytes).is_empty() {
        // Remote memory can't be kept local.
        return refused(libc::ENOMEM);
    }
    // SAFETY: the kernel checks the addresses.
    unsafe { libc::syscall(call, at, bytes, flags) as c_int }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn mlockall(flags: c_int) -> c_int {
    if is_on() {
        // It would ask for all addresses that are reserved.
        return refused(libc::ENOMEM);
    }
    // SAFETY: a number.
    unsafe { libc::syscall(libc::SYS_mlockall, flags) as c_int }
}
