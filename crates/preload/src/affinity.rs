//! Which processor the program runs on: sched_setaffinity(2). A fault is handled fastest on the processor
//! where it happened.
//!
//! As long as a process has one thread, that thread and the one that handles its faults stay on one
//! processor: waking a thread on another one takes several times as long as handling a fault. With
//! the first thread more, all are free to go where they were. Meanwhile the program is told that it may run
//! where it might without us: that is how many threads it will want.

use crate::config::{NAME, VARIABLE, config};
use crate::lock::Lock;
use crate::raw;
use libc::{c_int, cpu_set_t, pid_t, pthread_t};
use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// Processors, as the kernel has them.
type Set = [u64; 16];
const BYTES: usize = size_of::<Set>();

/// The thread that is kept, and where it might run otherwise.
pub(crate) static KEPT: Lock<Option<(pid_t, Set)>> = Lock::new(None);
/// The thread that handles faults.
static HANDLER: AtomicI32 = AtomicI32::new(0);

fn me() -> pid_t {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }
}

fn get(thread: pid_t) -> Option<Set> {
    let mut set = [0; 16];
    // SAFETY: the kernel writes so many bytes at most.
    let wrote = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, BYTES, &raw mut set) };
    (wrote > 0).then_some(set)
}

fn set(thread: pid_t, to: &Set) -> i64 {
    // SAFETY: the kernel reads so many bytes.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, thread, BYTES, to) }
}

/// Where the launcher might run: a program that was started by a thread that was kept may go there again.
pub(crate) fn begin() {
    let cpus = config().cpus;
    if cpus != 0
        && let Some(now) = get(0)
        && now.iter().map(|word| word.count_ones()).sum::<u32>() == 1
    {
        let mut to = [0; 16];
        to[0] = cpus;
        set(0, &to);
    }
}

/// This thread, the only one, stays on a processor, and so does the one that handles faults, which it starts
/// next. `other`: on another than now, because a parent stays here.
pub(crate) fn keep(other: bool) {
    let Some(all) = get(0) else { return };
    // SAFETY: asks for a number.
    let here = usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0);
    let allowed = |cpu: &usize| all[cpu / 64] >> (cpu % 64) & 1 == 1;
    let next = (here + 1..BYTES * 8).chain(0..here).find(allowed);
    let cpu = if other { next.unwrap_or(here) } else { here };
    let mut one = [0; 16];
    one[cpu / 64] = 1 << (cpu % 64);
    if set(0, &one) == 0 {
        *KEPT.lock() = Some((me(), all));
    }
}

/// The calling thread handles faults.
pub(crate) fn is_handler() {
    HANDLER.store(me(), Relaxed);
}

/// All go where they like.
pub(crate) fn release() {
    let kept = KEPT.lock().take();
    if let Some((thread, all)) = kept {
        set(thread, &all);
        set(HANDLER.load(Relaxed), &all);
    }
}

/// A forked child's only thread may go where its parent's might.
pub(crate) fn forked() {
    let kept = KEPT.lock().take();
    if let Some((_, all)) = kept {
        set(0, &all);
    }
}

fn told(result: i64) -> c_int {
    if result < 0 { -1 } else { 0 }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sched_getaffinity(of: pid_t, bytes: usize, to: *mut cpu_set_t) -> c_int {
    // SAFETY: the caller's place for so many bytes.
    let place = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes) };
    if let Some((thread, all)) = *KEPT.lock()
        && (of == 0 || of == thread)
        && all.iter().skip(bytes / 8).all(|word| *word == 0)
    {
        place.fill(0);
        all.iter().zip(place.as_chunks_mut().0).for_each(|(word, to)| *to = word.to_ne_bytes());
        return 0;
    }
    // SAFETY: as above.
    let wrote = unsafe { libc::syscall(libc::SYS_sched_getaffinity, of, bytes, to) };
    if wrote > 0 {
        place[wrote as usize..].fill(0);
    }
    told(wrote)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sched_setaffinity(of: pid_t, bytes: usize, to: *const cpu_set_t) -> c_int {
    chosen();
    // SAFETY: the caller's bytes.
    told(unsafe { libc::syscall(libc::SYS_sched_setaffinity, of, bytes, to) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_getaffinity_np(of: pthread_t, bytes: usize, to: *mut cpu_set_t) -> c_int {
    // SAFETY: as `sched_getaffinity`; the thread's number is asked for where it isn't this one.
    let error = unsafe {
        if of == libc::pthread_self() { sched_getaffinity(0, bytes, to) } else { other(of, bytes, to) }
    };
    if error == 0 { 0 } else { libc::EINVAL }
}

/// Where another thread may run; there is none as long as one is kept.
unsafe fn other(of: pthread_t, bytes: usize, to: *mut cpu_set_t) -> c_int {
    type Get = unsafe extern "C" fn(pthread_t, usize, *mut cpu_set_t) -> c_int;
    // SAFETY: the C library's function of this name has this form.
    unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, c"pthread_getaffinity_np".as_ptr());
        std::mem::transmute::<*mut libc::c_void, Option<Get>>(found).map_or(-1, |get| get(of, bytes, to))
    }
}

/// The program chooses itself, for what it starts too.
fn chosen() {
    release();
    if !crate::config::is_on() {
        return;
    }
    let text = std::env::var(VARIABLE).unwrap_or_default();
    let without: Vec<&str> = text.split(',').filter(|pair| !pair.starts_with("cpus=")).collect();
    match CString::new(without.join(",")) {
        // SAFETY: C strings; as any program that changes its environment.
        Ok(text) => drop(unsafe { libc::setenv(NAME.as_ptr(), text.as_ptr(), 1) }),
        Err(_) => raw::fail(libc::EINVAL),
    }
}
