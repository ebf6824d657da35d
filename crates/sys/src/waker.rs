//! Ends another thread's wait. Page: eventfd(2).

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A counter that becomes readable when woken.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A waker that nobody has used yet.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn new() -> io::Result<Waker> {
        Ok(Waker(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable, from any thread. A counter that is full is readable already.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable again; whether it was woken since the last call.
    pub fn reset(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 8]).is_ok()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::Epoll;

    #[test]
    fn another_thread_wakes() {
        let waker = Waker::new().unwrap();
        let mut epoll = Epoll::new().unwrap();
        epoll.add(&waker, 1).unwrap();
        assert_eq!(epoll.wait(Some(std::time::Duration::ZERO)).unwrap().filter(|r| r.readable).count(), 0);
        assert!(!waker.reset());
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            assert!(epoll.wait(None).unwrap().next().unwrap().readable);
        });
        assert!(waker.reset());
    }
}
