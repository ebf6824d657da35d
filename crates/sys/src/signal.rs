//! Requests to end: SIGINT, SIGTERM and SIGHUP become something that can be read. Pages: signal(7),
//! sigaction(2).
//!
//! A signal that the process ignores stays ignored: the process that started it wants that.

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Catches requests to end as long as it lives. A second one has no other effect than the first.
#[derive(Debug)]
pub struct Requests {
    reader: UnixStream,
    ids: Vec<SigId>,
}

impl Requests {
    /// Begins to catch.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn catch() -> io::Result<Requests> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let mut requests = Requests { reader, ids: Vec::new() };
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
            requests.ids.push(pipe::register(signal, writer.try_clone()?)?);
        }
        Ok(requests)
    }

    /// Whether one has come since the last call.
    pub fn take(&self) -> bool {
        (&self.reader).read(&mut [0; 16]).is_ok_and(|bytes| bytes > 0)
    }
}

impl AsFd for Requests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one to memory of that type.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed at least, and all of its parts are integers or may be null.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn a_request_is_seen_once() {
        let requests = Requests::catch().unwrap();
        assert!(!requests.take());
        kill_process(getpid(), Signal::TERM).unwrap();
        let mut epoll = crate::epoll::Epoll::new().unwrap();
        epoll.add(&requests, 0).unwrap();
        while !epoll.wait(None).unwrap().any(|ready| ready.readable) {}
        assert!(requests.take());
        assert!(!requests.take());
    }

    #[test]
    fn what_is_ignored_is_known() {
        // SIGURG is ignored by default, but not by choice: only a choice counts.
        assert!(!is_ignored(libc::SIGTERM) && !is_ignored(libc::SIGURG));
        assert!(is_ignored(libc::SIGPIPE), "Rust programs ignore it from the start");
    }
}
