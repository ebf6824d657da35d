//! fork(2): the child has a copy of all pages, local and remote, but neither the thread that handles faults
//! nor its registration.
//!
//! The forking thread holds all locks meanwhile, so that no page is on its way; faults of other threads wait.
//! What the child's C library touches before it calls [`child`] is never remote ([`crate::callers`]); nothing
//! else of the child has run by then, because these handlers were registered before anybody else's
//! (pthread_atfork(3)), and signals wait: their handlers could touch what is away, which nobody would bring,
//! and of which a child would see zeros.

use crate::config::{config, is_remote};
use crate::lock::Lock;
use crate::pager::PAGER;
use crate::runs::RUNS;
use crate::signals::Waiting;
use crate::{affinity, areas, elsewhere, handler, heap, lock, private, signals, stacks, stats, threads};

/// The signals of who forks.
static SIGNALS: Lock<Option<Waiting>> = Lock::new(None);

/// From now on forks are prepared for.
pub(crate) fn prepare_for() {
    // SAFETY: three functions that live as long as the program.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

extern "C" fn prepare() {
    stacks::stay();
    let waiting = signals::wait();
    heap::ALL.iter().for_each(|heap| heap.hold());
    affinity::KEPT.hold();
    elsewhere::CHANGING.hold();
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
    handler::forked();
    release();
}

fn release() {
    let signals = SIGNALS.lock().take();
    lock::forking(false);
    private::HEAP.release();
    PAGER.release();
    stacks::ONE_AT_A_TIME.release();
    handler::CLAIMING.release();
    areas::KERNEL.release();
    areas::UNUSED.release();
    RUNS.release();
    elsewhere::CHANGING.release();
    affinity::KEPT.release();
    heap::ALL.iter().for_each(|heap| heap.release());
    drop(signals);
}

extern "C" fn child() {
    let signals = SIGNALS.lock().take();
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
    elsewhere::CHANGING.release();
    heap::ALL.iter().for_each(|heap| heap.release());
    drop(signals);
}
