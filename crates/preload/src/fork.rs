//! fork(2): the child has a copy of all pages, local and remote, but neither the thread that handles faults
//! nor its registration.
//!
//! The forking thread holds all locks meanwhile, so that no page is on its way; faults of other threads wait.
//! What the child's C library touches before it calls [`child`] is never remote ([`crate::callers`]); nothing
//! else of the child has run by then, because these handlers are registered before anybody else's
//! (pthread_atfork(3)), and signals wait: their handlers could touch what is away, which nobody would bring,
//! and of which a child would see zeros.
//!
//! The C library calls these handlers for fork(3) alone. Its other ways to a process that has a copy of the
//! memory are `_Fork`, clone(2) and syscall(2), and each of them passes here too. A process that shares the
//! memory (`CLONE_VM`, vfork(2)) is served as a thread is.

use crate::config::{config, is_on, is_remote};
use crate::lock::Lock;
use crate::pager::PAGER;
use crate::runs::RUNS;
use crate::signals::Waiting;
use crate::theirs::theirs;
use crate::{
    affinity, areas, brk, elsewhere, handler, heap, lock, private, raw, signals, stacks, stats, threads,
};
use libc::{c_int, c_void, pid_t};
use std::sync::Once;

/// The signals of who forks.
static SIGNALS: Lock<Option<Waiting>> = Lock::new(None);

type Handler = Option<unsafe extern "C" fn()>;

/// From now on forks are prepared for.
pub(crate) fn prepare_for() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register(Some(prepare), Some(parent), Some(child), std::ptr::null_mut());
    });
}

fn register(prepare: Handler, parent: Handler, child: Handler, object: *mut c_void) -> c_int {
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    // SAFETY: the C library's function of this name has this form.
    let next = unsafe { theirs::<Register>(c"__register_atfork") };
    // SAFETY: as the caller promises.
    next.map_or(libc::ENOMEM, |next| unsafe { next(prepare, parent, child, object) })
}

/// What pthread_atfork(3) calls. Libraries begin before this one, and their handlers in a child too may touch
/// what is remote.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    object: *mut c_void,
) -> c_int {
    prepare_for();
    register(prepare, parent, child, object)
}

/// Whether each of the locks was seen free: a signal's handler may fork, where it has interrupted who holds
/// one. Signals wait for that once memory is remote.
fn can_prepare() -> bool {
    if is_remote() {
        return true;
    }
    let is_free = |look: &dyn Fn() -> bool| (0..TRIES).any(|_| look() || raw::yield_processor());
    heap::ALL.iter().all(|heap| is_free(&|| heap.try_lock().is_some()))
        && is_free(&|| affinity::KEPT.try_lock().is_some())
        && is_free(&|| elsewhere::CHANGING.try_lock().is_some())
        && is_free(&|| brk::HEAP.try_lock().is_some())
        && is_free(&|| RUNS.try_lock().is_some())
        && is_free(&|| areas::UNUSED.try_lock().is_some())
        && is_free(&|| areas::KERNEL.try_lock().is_some())
        && is_free(&|| private::HEAP.try_lock().is_some())
}

/// How often a lock is looked at before it counts as held by a thread that can't go on.
const TRIES: usize = 10_000;

/// Calls what makes a process with a copy of the memory, and returns in it too.
fn prepared(fork: impl FnOnce() -> i64) -> i64 {
    if !is_on() || !can_prepare() {
        return fork();
    }
    prepare();
    let made = fork();
    match made {
        0 => child(),
        _ => parent(),
    }
    made
}

/// By number, as syscall(2) is asked for it.
///
/// # Safety
/// As the call asks of its arguments; the new process goes on where this one does.
pub(crate) unsafe fn by_number(number: i64, arguments: [usize; 6]) -> i64 {
    // SAFETY: as the caller promises.
    match prepared(|| unsafe { raw::call(number, arguments) }) {
        error @ -4095..0 => {
            raw::fail(-error as i32);
            -1
        }
        made => made,
    }
}

#[allow(non_snake_case, reason = "the C library's name")]
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn _Fork() -> pid_t {
    // SAFETY: the C library's function of this name has this form.
    let Some(next) = (unsafe { theirs::<extern "C" fn() -> pid_t>(c"_Fork") }) else {
        raw::fail(libc::ENOSYS);
        return -1;
    };
    let mut error = 0;
    let made = prepared(|| {
        let made = next();
        error = raw::error();
        made.into()
    });
    if made < 0 {
        raw::fail(error);
    }
    made as pid_t
}

type Body = extern "C" fn(*mut c_void) -> c_int;

/// What a new process runs, on this library's own heap.
struct Start {
    body: Body,
    argument: *mut c_void,
}

extern "C" fn run(start: *mut c_void) -> c_int {
    child();
    // SAFETY: made by `clone`; this process has a copy of its own.
    let Start { body, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    body(argument)
}

/// The last three are read as the flags say.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn clone(
    body: Option<Body>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: usize,
    storage: usize,
    child_id: usize,
) -> c_int {
    type Clone =
        unsafe extern "C" fn(Option<Body>, *mut c_void, c_int, *mut c_void, usize, usize, usize) -> c_int;
    // SAFETY: the C library's function of this name has this form.
    let Some(next) = (unsafe { theirs::<Clone>(c"clone") }) else {
        raw::fail(libc::ENOSYS);
        return -1;
    };
    let Some(body) = body.filter(|_| flags & libc::CLONE_VM == 0 && is_on() && can_prepare()) else {
        // SAFETY: as the caller promises.
        return unsafe { next(body, stack, flags, argument, parent_id, storage, child_id) };
    };
    // The new process uses it before somebody can bring it.
    stacks::keep_below(stack as usize);
    let start = Box::into_raw(Box::new(Start { body, argument }));
    prepare();
    // SAFETY: as the caller promises; `run` takes over what it gets, in the new process.
    let made = unsafe { next(Some(run), stack, flags, start.cast(), parent_id, storage, child_id) };
    let error = raw::error();
    parent();
    // SAFETY: the new process has a copy.
    drop(unsafe { Box::from_raw(start) });
    raw::fail(error);
    made
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn __clone(
    body: Option<Body>,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: usize,
    storage: usize,
    child_id: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { clone(body, stack, flags, argument, parent_id, storage, child_id) }
}

extern "C" fn prepare() {
    if !is_on() {
        return;
    }
    stacks::stay();
    let waiting = signals::wait();
    heap::ALL.iter().for_each(|heap| heap.hold());
    affinity::KEPT.hold();
    elsewhere::CHANGING.hold();
    brk::HEAP.hold();
    RUNS.hold();
    areas::UNUSED.hold();
    areas::KERNEL.hold();
    // Behind the locks that a thread may hold while it waits for a page; and for the handler's answer.
    handler::CLAIMING.hold();
    stacks::ONE_AT_A_TIME.hold();
    handler::fork();
    PAGER.hold();
    private::HEAP.hold();
    lock::forking(true);
    *SIGNALS.lock() = Some(waiting);
}

extern "C" fn parent() {
    let signals = SIGNALS.lock().take();
    if signals.is_none() {
        return;
    }
    handler::forked();
    lock::forking(false);
    private::HEAP.release();
    PAGER.release();
    stacks::ONE_AT_A_TIME.release();
    handler::CLAIMING.release();
    areas::KERNEL.release();
    areas::UNUSED.release();
    RUNS.release();
    brk::HEAP.release();
    elsewhere::CHANGING.release();
    affinity::KEPT.release();
    heap::ALL.iter().for_each(|heap| heap.release());
    drop(signals);
}

extern "C" fn child() {
    let signals = SIGNALS.lock().take();
    if signals.is_none() {
        return;
    }
    private::begin_stats(&config().folder);
    elsewhere::tell();
    threads::alone();
    affinity::forked();
    affinity::KEPT.release();
    if let Some(pager) = PAGER.lock().as_mut() {
        pager.forked();
    }
    lock::forking(false);
    // The thread that is started here allocates, and asks what is the kernel's.
    private::HEAP.release();
    stacks::ONE_AT_A_TIME.release();
    handler::CLAIMING.release();
    areas::KERNEL.release();
    areas::UNUSED.release();
    if is_remote() {
        handler::begin_again();
        stats::stats().remote.set(1);
    }
    PAGER.release();
    RUNS.release();
    brk::HEAP.release();
    elsewhere::CHANGING.release();
    heap::ALL.iter().for_each(|heap| heap.release());
    drop(signals);
}
