//! Signals of the calling thread that wait: pthread_sigmask(3).

use std::mem::MaybeUninit;
use std::ptr;

/// As long as it lives, the thread that made it gets no signals. A forked child has it too.
pub(crate) struct Waiting {
    before: libc::sigset_t,
}

/// Nothing where no memory is remote: what a signal's handler touches is there then.
///
/// A thread that holds a lock that the handler of page faults needs gets no signal: the signal's handler
/// could touch what is away, and nobody would bring it.
pub(crate) fn quiet() -> Option<Waiting> {
    crate::stacks::stay();
    crate::config::is_remote().then(wait)
}

/// No signal comes from now on; those of the C library itself do.
pub(crate) fn wait() -> Waiting {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are written before they are read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        Waiting { before: before.assume_init() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // SAFETY: the set that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}
