//! How a missing page comes: `UFFDIO_COPY`, `ZEROPAGE`, `MOVE`; write protection; waking threads
//! that waits.

use super::{Range, Userfaultfd, both_ways, reads};
use std::io;

/// Whether threads that wait for a page go on when it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// They do.
    Yes,
    /// Not yet: [`Userfaultfd::wake`] comes later.
    Later,
}

/// How far a call came that stopped on the way.
#[derive(Debug)]
pub struct Moved {
    /// Bytes that are done.
    pub bytes: usize,
    /// Why it stopped there.
    pub error: io::Error,
}

const WAKE: libc::c_ulong = reads(0x02, 16);
const COPY: libc::c_ulong = both_ways(0x03, 40);
const ZEROPAGE: libc::c_ulong = both_ways(0x04, 32);
const MOVE: libc::c_ulong = both_ways(0x05, 40);
const WRITEPROTECT: libc::c_ulong = both_ways(0x06, 24);

/// `UFFDIO_*_MODE_DONTWAKE`.
const fn later(wake: Wake) -> u64 {
    matches!(wake, Wake::Later) as u64
}

impl Userfaultfd {
    /// Missing pages come as a copy of what lies at `from`; `protect` puts them under write protection.
    ///
    /// # Safety
    /// Nobody relies on what is in `to`, which is registered here.
    ///
    /// # Errors
    /// How far it came: `EEXIST` at a page that is there, `EFAULT` where `from` can't be read.
    pub unsafe fn copy(&self, to: Range, from: usize, protect: bool, wake: Wake) -> Result<(), Moved> {
        let mode = later(wake) | u64::from(protect) << 1;
        self.whole(COPY, [to.start as u64, from as u64, to.bytes as u64, mode, 0], to.bytes)
    }

    /// Missing pages come as zeros.
    ///
    /// # Safety
    /// As [`Userfaultfd::copy`].
    ///
    /// # Errors
    /// How far it came.
    pub unsafe fn zero(&self, to: Range, wake: Wake) -> Result<(), Moved> {
        self.whole(ZEROPAGE, [to.start as u64, to.bytes as u64, later(wake), 0], to.bytes)
    }

    /// Missing pages come by moving those at `from`, which are missing afterwards: at no moment are they in
    /// both places or in none, whatever other threads do. Only pages that are this process's alone can be
    /// moved, and no device uses.
    ///
    /// # Safety
    /// As [`Userfaultfd::copy`]; and nobody relies on what is at `from`.
    ///
    /// # Errors
    /// How far it came: `EBUSY` at a page that is shared with a forked process or that a device uses,
    /// `EINVAL` where both sides aren't alike and writable, `ENOENT` at a hole.
    pub unsafe fn take(&self, to: Range, from: usize, wake: Wake) -> Result<(), Moved> {
        self.whole(MOVE, [to.start as u64, from as u64, to.bytes as u64, later(wake), 0], to.bytes)
    }

    /// Puts pages that are there under write protection, or lifts it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn write_protect(&self, range: Range, protect: bool, wake: Wake) -> io::Result<()> {
        let mode = u64::from(protect) | if protect { 0 } else { later(wake) << 1 };
        self.control(WRITEPROTECT, &mut [range.start as u64, range.bytes as u64, mode])
    }

    /// Threads that wait in this range try again.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wake(&self, range: Range) -> io::Result<()> {
        self.control(WAKE, &mut [range.start as u64, range.bytes as u64])
    }

    /// The last word tells how much was done, or an error's number. What was interrupted before anything
    /// happened begins again.
    fn whole<const N: usize>(
        &self,
        request: libc::c_ulong,
        mut words: [u64; N],
        bytes: usize,
    ) -> Result<(), Moved> {
        loop {
            words[N - 1] = 0;
            let Err(error) = self.control(request, &mut words) else { return Ok(()) };
            let done = words[N - 1] as i64;
            if error.raw_os_error() != Some(libc::EAGAIN) {
                return Err(Moved { bytes: done.max(0) as usize, error });
            }
            if done > 0 && (done as usize) < bytes {
                return Err(Moved { bytes: done as usize, error });
            }
        }
    }
}
