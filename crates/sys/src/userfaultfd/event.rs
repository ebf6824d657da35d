//! What is read from the descriptor: `struct uffd_msg` of linux/userfaultfd.h.

use super::{Range, Userfaultfd};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A page that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Address of the page.
    pub address: usize,
    /// Whether it was a write.
    pub write: bool,
    /// Whether the page is there, but under write protection.
    pub protected: bool,
    /// Whether the page exists, but isn't mapped.
    pub minor: bool,
    /// Thread that waits, where [`super::Features::THREAD`] was asked for; else 0.
    pub thread: u32,
}

/// What happened to the memory.
#[derive(Debug)]
pub enum Event {
    /// A thread waits for a page.
    Fault(Fault),
    /// The process forked; this is the child's descriptor.
    Fork(Userfaultfd),
    /// A range moved, to this address.
    Remap(Range, usize),
    /// Pages are gone, the range stays.
    Remove(Range),
    /// A range is gone.
    Unmap(Range),
}

const BYTES: usize = 32;

impl Userfaultfd {
    /// Waits for the next event.
    ///
    /// # Errors
    /// What the kernel says; `Interrupted` by a signal, `WouldBlock` where there is none after
    /// [`Userfaultfd::never_block`].
    #[inline]
    pub fn read(&self) -> io::Result<Event> {
        let mut message = [0; BYTES];
        let read = (&self.file).read(&mut message)?;
        if read != BYTES {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        event(&message)
    }

    /// From now on [`Userfaultfd::read`] does not wait, and poll(2) tells when there is an event: it does not
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

fn event(message: &[u8; BYTES]) -> io::Result<Event> {
    let word = |at: usize| u64::from_ne_bytes(*message[at..].first_chunk().expect("32 bytes"));
    let (first, second, third) = (word(8), word(16), word(24));
    let between = || Range { start: first as usize, bytes: second.saturating_sub(first) as usize };
    Ok(match message[0] {
        0x12 => Event::Fault(Fault {
            address: second as usize,
            write: first & 1 != 0,
            protected: first & 2 != 0,
            minor: first & 4 != 0,
            thread: third as u32,
        }),
        0x13 => {
            // SAFETY: the kernel made this descriptor for the reader of the event, and nobody else has it.
            let fd = unsafe { OwnedFd::from_raw_fd(first as u32 as i32) };
            Event::Fork(Userfaultfd { file: fd.into() })
        }
        0x14 => Event::Remap(Range { start: first as usize, bytes: third as usize }, second as usize),
        0x15 => Event::Remove(between()),
        0x16 => Event::Unmap(between()),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    })
}
