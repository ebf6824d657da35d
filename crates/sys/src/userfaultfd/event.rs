//! What is read from the descriptor: `struct uffd_msg` of linux/userfaultfd.h. Other events than faults come
//! only where they are asked for, and nobody asks for them.

use super::Userfaultfd;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

/// A page that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Address of the page.
    pub address: usize,
    /// Whether it was a write.
    pub write: bool,
    /// Whether the page is there, but under write protection.
    pub protected: bool,
    /// Thread that waits, where [`super::Features::THREAD`] was asked for; else 0.
    pub thread: u32,
}

/// `UFFD_EVENT_PAGEFAULT`.
const FAULT: u8 = 0x12;
const BYTES: usize = 32;

impl Userfaultfd {
    /// Waits for the next fault.
    ///
    /// # Errors
    /// What the kernel says; `Interrupted` by a signal, `WouldBlock` where there is none after
    /// [`Userfaultfd::never_block`].
    #[inline]
    pub fn read(&self) -> io::Result<Fault> {
        let mut message = [0; BYTES];
        let read = (&self.file).read(&mut message)?;
        if read != BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        fault(&message)
    }

    /// From now on [`Userfaultfd::read`] does not wait, and poll(2) tells when there is a fault: it does not
    /// tell before.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn never_block(&self) -> io::Result<()> {
        // SAFETY: changes a flag of this descriptor.
        match unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn fault(message: &[u8; BYTES]) -> io::Result<Fault> {
    let word = |at: usize| u64::from_ne_bytes(*message[at..].first_chunk().expect("32 bytes"));
    if message[0] != FAULT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let flags = word(8);
    let (write, protected) = (flags & 1 != 0, flags & 2 != 0);
    Ok(Fault { address: word(16) as usize, write, protected, thread: word(24) as u32 })
}
