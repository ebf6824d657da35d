//! The program's threads: a process ends when the last of them does, although the thread that handles faults
//! goes on.
//!
//! The C library ends a process when its last thread returns (pthread_exit(3)), and counts ours too. So
//! threads are counted here: one that ends, however it does, gives up a value of its own
//! (pthread_key_create(3)), and the last one ends the process.

use crate::config::is_remote;
use crate::layout::BASE;
use crate::{affinity, areas, elsewhere, stacks, trip};
use libc::{c_int, c_void, pthread_attr_t, pthread_key_t, pthread_t};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// What a thread runs; it may be ended in the middle, which unwinds its stack.
type Body = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Body, *mut c_void) -> c_int;

static CREATE: OnceLock<Create> = OnceLock::new();
static KEY: OnceLock<pthread_key_t> = OnceLock::new();
/// Threads of the program.
static ALIVE: AtomicUsize = AtomicUsize::new(1);

/// The other values of a thread end first: the C library asks four times (`PTHREAD_DESTRUCTOR_ITERATIONS`).
const ROUNDS: usize = 4;

/// The first thread counts from now on.
pub(crate) fn begin() {
    let mut key = 0;
    // SAFETY: the key is written before it is used; the function lives as long as the program.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0 && KEY.set(key).is_ok() {
        remember(1);
    }
}

/// In a forked child only the thread that forked is left.
pub(crate) fn alone() {
    ALIVE.store(1, Relaxed);
}

/// Whether the program has one thread.
pub(crate) fn is_one() -> bool {
    ALIVE.load(Relaxed) == 1
}

/// A thread that is not the program's.
pub(crate) fn create_ours(body: Body) -> c_int {
    let mut thread = 0;
    // SAFETY: no attributes and no argument; the thread's number is written before it is read.
    unsafe {
        let error = create()(&mut thread, std::ptr::null(), body, std::ptr::null_mut());
        if error == 0 {
            libc::pthread_detach(thread);
        }
        error
    }
}

fn create() -> Create {
    *CREATE.get_or_init(|| {
        // SAFETY: the C library's function of this name has this form.
        unsafe {
            let found = libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr());
            std::mem::transmute::<*mut c_void, Option<Create>>(found)
        }
        .unwrap_or_else(|| crate::raw::die("the C library has no threads"))
    })
}

fn remember(round: usize) {
    if let Some(key) = KEY.get() {
        // SAFETY: the key exists; its value is a number.
        unsafe { libc::pthread_setspecific(*key, round as *const c_void) };
    }
}

unsafe extern "C" fn ended(round: *mut c_void) {
    if (round as usize) < ROUNDS {
        remember(round as usize + 1);
    } else if ALIVE.fetch_sub(1, AcqRel) == 1 && is_remote() {
        // SAFETY: as the C library does when the last thread ends.
        unsafe { libc::exit(0) };
    }
}

/// What a new thread runs, on this library's own heap.
struct Start {
    body: Body,
    argument: *mut c_void,
}

extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` for this thread alone.
    let Start { body, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    remember(1);
    if is_remote() {
        trip::measure_with_several();
    }
    body(argument)
}

/// A stack that the program brings along has what the C library knows of the thread, too; and a thread that
/// ends while that is away would leave its end untold: the kernel brings nothing for it any more.
fn keep_stack(attributes: *const pthread_attr_t) {
    let (mut at, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes that pthread_create(3) was given; both are written before they are read.
    let known =
        !attributes.is_null() && unsafe { libc::pthread_attr_getstack(attributes, &mut at, &mut bytes) } == 0;
    if known && let Some(at) = elsewhere::inward(at as usize) {
        stacks::keep(areas::clipped(at / BASE * BASE, bytes + at % BASE));
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub(crate) unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    affinity::release();
    keep_stack(attributes);
    let start = Box::into_raw(Box::new(Start { body, argument }));
    ALIVE.fetch_add(1, Relaxed);
    // SAFETY: as the caller promises; `run` takes over what it gets.
    let error = unsafe { create()(thread, attributes, run, start.cast()) };
    if error != 0 {
        ALIVE.fetch_sub(1, Relaxed);
        // SAFETY: no thread took it over.
        drop(unsafe { Box::from_raw(start) });
    }
    error
}
