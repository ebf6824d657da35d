//! The thread that handles page faults, and when it begins: once the program has asked for more than local
//! memory has.

use crate::areas;
use crate::config::{self, config, is_remote};
use crate::exchange::Exchange;
use crate::layout::{self, BASE};
use crate::lock::Lock;
use crate::pager::{self, PAGER, Pager, waiting};
use crate::raw;
use crate::runs;
use crate::stats::stats;
use crate::{affinity, elsewhere, grown, signals, stacks, threads, touched, trip};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use sys::cpu::monotonic_ns;
use sys::userfaultfd::Range;

/// Bytes that the program has been given, what it gave back among them.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
/// 1 as soon as the thread handles faults.
static READY: AtomicU32 = AtomicU32::new(0);

/// A thread holds it while it claims a place.
pub(crate) static CLAIMING: Lock<()> = Lock::new(());
/// 1 while the thread waits for a fork to be over.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The program gets so many more bytes. When that is more than local memory has, memory is remote from now
/// on.
pub(crate) fn give(bytes: usize) {
    let given = GIVEN.fetch_add(bytes, Relaxed) + bytes;
    stats().asked_bytes.set(given as u64);
    if given > config().local && config::becomes_remote() {
        *PAGER.lock() = Some(Pager::new(config()));
        begin(first, false);
        stats().remote.set(1);
        trip::measure();
    }
    // Behind what was touched before.
    if config().trace && is_remote() {
        pager::quietly(|pager| pager.map(|pager| pager.asked(given)));
    }
}

/// In a forked child, which has the memory but no thread that handles its faults.
pub(crate) fn begin_again() {
    begin(again, true);
}

/// Starts the thread, and waits until it is ready. It gets no signals: they are the program's.
fn begin(run: extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void, forked: bool) {
    READY.store(0, Relaxed);
    if threads::is_one() {
        affinity::keep(forked);
    }
    let waiting = signals::wait();
    let error = threads::create_ours(run);
    drop(waiting);
    if error != 0 {
        raw::die("no thread can be started that handles page faults");
    }
    while READY.load(Acquire) == 0 {
        raw::wait(&READY, 0);
    }
}

extern "C-unwind" fn first(_: *mut libc::c_void) -> *mut libc::c_void {
    let exchange = open();
    if let Some(pager) = PAGER.lock().as_mut() {
        let ranges = grown::ranges().chain(areas::used(runs::range()));
        ranges.for_each(|range| exchange.present(range, |address| pager.adopt(address)));
    }
    serve(&exchange)
}

extern "C-unwind" fn again(_: *mut libc::c_void) -> *mut libc::c_void {
    serve(&open())
}

/// The thread's descriptors are its own, and the program's are none of its.
fn open() -> Exchange {
    // SAFETY: changes this thread's table of descriptors only.
    let alone = unsafe { libc::syscall(libc::SYS_close_range, 0, u32::MAX, libc::CLOSE_RANGE_UNSHARE) };
    if alone != 0 {
        raw::die("close_range(2) fails: Linux 5.9 or newer is needed");
    }
    affinity::is_handler();
    // SAFETY: names this thread.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"farmem".as_ptr()) };
    Exchange::open().unwrap_or_else(|refused| raw::die(&refused.to_string()))
}

fn serve(exchange: &Exchange) -> ! {
    READY.store(1, Release);
    raw::wake(&READY, i32::MAX);
    let stats = stats();
    if let Some(pager) = PAGER.lock().as_mut() {
        pager.store.begin();
    }
    let mut until = None;
    loop {
        let fault = exchange.fault(until);
        if let Some(fault) = &fault
            && fault.address == layout::bell()
        {
            share(exchange);
            continue;
        }
        if let Some(fault) = &fault
            && fault.address == layout::keeper()
        {
            keep(exchange);
            continue;
        }
        if let Some(fault) = &fault
            && fault.address == layout::claim()
        {
            exchange.claim();
            exchange.zero_page(layout::claim());
            exchange.wake_page(layout::claim());
            continue;
        }
        if fault.is_none() && until.is_none() {
            continue;
        }
        let since = monotonic_ns();
        if let Some(fault) = &fault
            && fault.address == layout::trip()
        {
            trip::answer(exchange, since);
            continue;
        }
        if let Some(pager) = PAGER.lock().as_mut() {
            if let Some(fault) = fault {
                pager.fault(exchange, &fault, since, stats);
            }
            until = pager.arrive(exchange, stats);
        }
    }
}

/// What a thread asks for stays local ([`stacks`]).
fn keep(exchange: &Exchange) {
    if let Some(pager) = PAGER.lock().as_mut() {
        pager.finish(exchange, stats());
        pager.keep(exchange, stacks::asked());
    }
    exchange.zero_page(layout::keeper());
    exchange.wake_page(layout::keeper());
}

/// What has left is a child's too, and nothing leaves or comes until the fork is over.
fn share(exchange: &Exchange) {
    if let Some(pager) = PAGER.lock().as_mut() {
        pager.finish(exchange, stats());
        pager.store.share();
    }
    FORKS.store(1, Release);
    exchange.zero_page(layout::bell());
    exchange.wake_page(layout::bell());
    while FORKS.load(Acquire) == 1 {
        raw::wait(&FORKS, 1);
    }
}

/// The process is about to fork: no page is on its way, and no fault is handled until [`forked`]. Only the
/// thread that handles them can bring pages and speak to a server, and a fault is what it listens to.
pub(crate) fn fork() {
    if is_remote() && (config().server.is_some() || !threads::is_one()) {
        let bell = layout::bell() as *const u8;
        // SAFETY: the page is there once somebody has touched it, and nobody writes to it.
        unsafe { bell.read_volatile() };
        let _ = raw::advise(layout::bell(), BASE, libc::MADV_DONTNEED);
    }
}

/// A place elsewhere is the program's, and its pages come and leave from now on. Only the thread that handles
/// faults has the descriptor.
pub(crate) fn claim() {
    let _held = CLAIMING.lock();
    // SAFETY: as in `fork`.
    unsafe { (layout::claim() as *const u8).read_volatile() };
    let _ = raw::advise(layout::claim(), BASE, libc::MADV_DONTNEED);
}

/// In the parent: the fork is over.
pub(crate) fn forked() {
    FORKS.store(0, Release);
    raw::wake(&FORKS, 1);
}

/// The range is zero, and the program's no longer or again: nothing of it is kept, here or there.
pub(crate) fn forget(range: Range) {
    if !is_remote() {
        touched::before(range.bytes);
        let _ = raw::advise(elsewhere::real(range).start, range.bytes, libc::MADV_DONTNEED);
        return;
    }
    for range in areas::used(range) {
        while let Some(seen) = pager::quietly(|pager| {
            if let Some(pager) = pager {
                if pager.expects(range) {
                    return Some(waiting::comings());
                }
                pager.forget(range);
            }
            let _ = raw::advise(elsewhere::real(range).start, range.bytes, libc::MADV_DONTNEED);
            None
        }) {
            waiting::until_some_come(seen);
        }
    }
}
