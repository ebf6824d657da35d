//! Waiting for many descriptors at once. Pages: epoll(7), epoll_pwait2(2), ppoll(2).
//!
//! Edge-triggered: the caller reads or writes until it would block.

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token it was added under.
    pub token: u64,
    /// There is something to read, or the end.
    pub readable: bool,
    /// There is room to write, or the other end is gone.
    pub writable: bool,
}

/// Descriptors that are waited for. A descriptor leaves by being closed.
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<epoll::Event>,
}

/// Descriptors reported by one wait at most; the others are reported by the next.
const EVENTS: usize = 256;

impl Epoll {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn new() -> io::Result<Epoll> {
        Ok(Epoll { fd: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(EVENTS) })
    }

    /// Adds a descriptor: each change of what it is ready for is reported under `token`, once.
    ///
    /// # Errors
    /// When it was added before, or the kernel's limit is reached.
    pub fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), flags)?)
    }

    /// The same for a descriptor that is only read from: whether there is room to write is not reported.
    ///
    /// # Errors
    /// As [`Epoll::add`].
    pub fn add_to_read(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.fd, fd, EventData::new_u64(token), flags)?)
    }

    /// Waits until [`Epoll::wait`] has something to report, or one of `others` is ready for reading or for
    /// writing, as its flags ask. Says which of them are for what.
    ///
    /// A descriptor that was added costs something with every packet, one that is given here with every wait
    /// (poll(2)): for sockets that are seldom waited for.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn wait_also(
        &self,
        others: &[(BorrowedFd<'_>, bool, bool)],
        timeout: Option<Duration>,
    ) -> io::Result<Vec<(bool, bool)>> {
        let mut fds = vec![PollFd::new(&self.fd, PollFlags::IN)];
        fds.extend(others.iter().map(|(fd, read, write)| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, *read);
            flags.set(PollFlags::OUT, *write);
            PollFd::from_borrowed_fd(*fd, flags)
        }));
        match poll(&mut fds, timeout.map(timespec).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = |fd: &PollFd<'_>| {
            let flags = fd.revents();
            (flags.contains(PollFlags::IN), flags.contains(PollFlags::OUT))
        };
        Ok(fds[1..].iter().map(ready).collect())
    }

    /// Waits until a descriptor is ready, `timeout` is over (`None`: for ever), or a signal comes: then none
    /// is.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<impl Iterator<Item = Ready> + '_> {
        self.events.clear();
        let timeout = timeout.map(timespec);
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.fd, spare, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.events.iter().map(|event| {
            let flags = event.flags;
            let gone = EventFlags::HUP | EventFlags::ERR;
            Ready {
                token: event.data.u64(),
                readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP | gone),
                writable: flags.intersects(EventFlags::OUT | gone),
            }
        }))
    }
}

fn timespec(time: Duration) -> Timespec {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn each_change_is_told_once() {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        epoll.add(&a, 7).unwrap();
        assert!(epoll.add(&a, 8).is_err());
        let now = Some(Duration::ZERO);
        let first: Vec<_> = epoll.wait(now).unwrap().collect();
        assert_eq!(first, [Ready { token: 7, readable: false, writable: true }]);
        assert_eq!(epoll.wait(now).unwrap().count(), 0);
        b.write_all(&[1]).unwrap();
        assert!(epoll.wait(None).unwrap().next().unwrap().readable);
        assert_eq!(epoll.wait(now).unwrap().count(), 0);
        a.read_exact(&mut [0]).unwrap();
        drop(b);
        assert!(epoll.wait(None).unwrap().next().unwrap().readable);
    }

    #[test]
    fn descriptors_that_were_not_added_can_be_waited_for() {
        let (a, mut b) = UnixStream::pair().unwrap();
        let (c, mut d) = UnixStream::pair().unwrap();
        let mut epoll = Epoll::new().unwrap();
        epoll.add(&c, 7).unwrap();
        epoll.wait(None).unwrap().for_each(drop);
        let now = Some(Duration::ZERO);
        let nothing = [(false, false)];
        assert_eq!(epoll.wait_also(&[(a.as_fd(), true, false)], now).unwrap(), nothing);
        assert_eq!(epoll.wait_also(&[(a.as_fd(), true, true)], now).unwrap(), [(false, true)]);
        b.write_all(&[1]).unwrap();
        assert_eq!(epoll.wait_also(&[(a.as_fd(), true, false)], None).unwrap(), [(true, false)]);
        assert_eq!(epoll.wait_also(&[(a.as_fd(), false, false)], now).unwrap(), nothing);
        d.write_all(&[1]).unwrap();
        assert_eq!(epoll.wait_also(&[(a.as_fd(), false, false)], None).unwrap(), nothing);
        assert!(epoll.wait(now).unwrap().next().unwrap().readable);
    }

    #[test]
    fn a_wait_ends_after_its_time() {
        let mut epoll = Epoll::new().unwrap();
        assert_eq!(epoll.wait(Some(Duration::from_nanos(1))).unwrap().count(), 0);
        assert_eq!(epoll.wait(Some(Duration::from_millis(2))).unwrap().count(), 0);
    }
}
