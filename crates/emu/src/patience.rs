//! How long a guest that computes is waited for.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two looks whether the run goes on.
const LOOK: Duration = Duration::from_millis(100);

/// A guest is waited for so long, and no longer than the run goes on.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Of real time.
    pub limit: Duration,
    /// The run goes on; somebody else may end it.
    pub going_on: Arc<AtomicBool>,
}

impl Patience {
    /// Which of these have something to say, once one has.
    ///
    /// # Errors
    /// `TimedOut`, or `ConnectionAborted` when the run does not go on.
    pub(crate) fn wait<const N: usize>(&self, fds: [BorrowedFd<'_>; N]) -> io::Result<[bool; N]> {
        let mut fds = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let mut left = self.limit;
        while left > Duration::ZERO {
            let now = left.min(LOOK);
            let step = Timespec::try_from(now).map_err(|_| io::ErrorKind::InvalidInput)?;
            match poll(&mut fds, Some(&step)) {
                Ok(0) => left -= now,
                Ok(_) => return Ok(fds.map(|fd| !fd.revents().is_empty())),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if !self.going_on.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;
    use std::os::fd::AsFd;

    fn patience(limit: Duration) -> Patience {
        Patience { limit, going_on: Arc::new(AtomicBool::new(true)) }
    }

    #[test]
    fn who_says_something_is_heard_and_who_does_not_is_given_up() {
        let ((quiet, _quiet), (loud, writes)) = (pipe().unwrap(), pipe().unwrap());
        rustix::io::write(&writes, b"x").unwrap();
        let patience = patience(Duration::from_millis(5));
        assert_eq!(patience.wait([quiet.as_fd(), loud.as_fd()]).unwrap(), [false, true]);
        assert_eq!(patience.wait([quiet.as_fd()]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn nobody_is_waited_for_when_the_run_is_to_end() {
        let (quiet, _quiet) = pipe().unwrap();
        let patience = patience(Duration::from_secs(600));
        let going_on = Arc::clone(&patience.going_on);
        let ends = std::thread::spawn(move || going_on.store(false, Ordering::Relaxed));
        assert_eq!(patience.wait([quiet.as_fd()]).unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        ends.join().unwrap();
    }
}
