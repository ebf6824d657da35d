//! Page faults handled in user space: userfaultfd(2), ioctl_userfaultfd(2),
//! Documentation/admin-guide/mm/userfaultfd.rst.
//!
//! A descriptor ([`Userfaultfd`]) takes charge of ranges of this process's memory
//! ([`Userfaultfd::register`]). A thread that touches a missing page waits, and its fault is read as a
//! [`Fault`]; the page comes by one of the `resolve` calls. `UFFDIO_MOVE` (Linux 6.8) is defined here,
//! because headers of distributions lack it. What a page holds and when it comes is not decided here.

mod carry;
mod event;
mod refused;
mod resolve;
#[cfg(test)]
mod tests;

pub use carry::{Fate, Kernel, carry};
pub use event::Fault;
pub use refused::Refused;
pub use resolve::{Moved, Wake};

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Whole pages of this process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Address of the first.
    pub start: usize,
    /// Bytes.
    pub bytes: usize,
}

/// Which faults are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the program alone: a system call that meets a missing page fails. Anybody may ask for it.
    Program,
    /// Those of system calls too. It takes a permission: see [`Refused`].
    Everything,
}

/// What a kernel may be asked for; bits of `UFFD_FEATURE_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(pub u64);

impl Features {
    /// Write protection of anonymous memory.
    pub const WRITE_PROTECT: Features = Features(1);
    /// Faults say which thread it was.
    pub const THREAD: Features = Features(1 << 8);
    /// The kernel lifts write protection by itself at the first write (Linux 6.7).
    pub const WRITE_PROTECT_ASYNC: Features = Features(1 << 15);
    /// Pages can be moved within a process (Linux 6.8).
    pub const MOVE: Features = Features(1 << 16);

    /// These and others.
    pub const fn and(self, others: Features) -> Features {
        Features(self.0 | others.0)
    }

    /// Whether all of `others` are among these.
    pub const fn has(self, others: Features) -> bool {
        self.0 & others.0 == others.0
    }
}

/// Which faults of a range; bits of `UFFDIO_REGISTER_MODE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u64);

impl Mode {
    /// Pages that are missing.
    pub const MISSING: Mode = Mode(1);
    /// Pages that are missing, and writes to those under write protection.
    pub const MISSING_AND_PROTECTED: Mode = Mode(3);
}

/// The descriptor that faults are read from.
#[derive(Debug)]
pub struct Userfaultfd {
    file: File,
}

/// `_IOWR(0xAA, number, struct of so many bytes)`, as asm-generic/ioctl.h makes it.
pub(crate) const fn both_ways(number: u32, bytes: u32) -> libc::c_ulong {
    (3 << 30 | bytes << 16 | 0xAA << 8 | number) as libc::c_ulong
}

/// `_IOR(0xAA, number, struct of so many bytes)`.
const fn reads(number: u32, bytes: u32) -> libc::c_ulong {
    (2 << 30 | bytes << 16 | 0xAA << 8 | number) as libc::c_ulong
}

const NEW: libc::c_ulong = 0xAA00;
const API: libc::c_ulong = both_ways(0x3F, 24);
const REGISTER: libc::c_ulong = both_ways(0x00, 32);
const UNREGISTER: libc::c_ulong = reads(0x01, 16);
const USER_MODE_ONLY: i32 = 1;

impl Userfaultfd {
    /// A new one with these features.
    ///
    /// # Errors
    /// When the kernel has none, lacks a feature, or this user may not: the error says the way out.
    pub fn new(scope: Scope, features: Features) -> Result<Userfaultfd, Refused> {
        let fd = Self::open(scope)?;
        let uffd = Userfaultfd { file: fd.into() };
        uffd.shake_hands(features)?;
        Ok(uffd)
    }

    fn open(scope: Scope) -> Result<OwnedFd, Refused> {
        let flags = libc::O_CLOEXEC | if scope == Scope::Program { USER_MODE_ONLY } else { 0 };
        // SAFETY: userfaultfd(2) takes a number and makes a descriptor.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if let Ok(fd @ 0..) = i32::try_from(fd) {
            // SAFETY: the descriptor is new, and nobody else's.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EPERM) => Self::from_device(flags).map_err(|_| Refused::Permission),
            Some(libc::ENOSYS) => Err(Refused::Kernel),
            // A kernel before 5.11 doesn't know the flag.
            Some(libc::EINVAL) => Err(Refused::Features),
            other => Err(Refused::Failed(io::Error::from_raw_os_error(other.unwrap_or(libc::EIO)))),
        }
    }

    /// A process that may open the device may have any scope (Linux 6.1).
    fn from_device(flags: i32) -> io::Result<OwnedFd> {
        let device = File::options().read(true).write(true).open("/dev/userfaultfd")?;
        // SAFETY: USERFAULTFD_IOC_NEW takes a number and makes a descriptor.
        let fd = unsafe { libc::ioctl(device.as_raw_fd(), NEW, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    fn shake_hands(&self, features: Features) -> Result<(), Refused> {
        let mut api = [0xAA, features.0, 0u64];
        self.control(API, &mut api).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => Refused::Features,
            Some(libc::EPERM) => Refused::Permission,
            _ => Refused::Failed(error),
        })?;
        if Features(api[1]).has(features) { Ok(()) } else { Err(Refused::Features) }
    }

    /// Takes charge of a range.
    ///
    /// # Errors
    /// What the kernel says: `EINVAL` where there is no such memory, `EBUSY` where somebody else has it.
    pub fn register(&self, range: Range, mode: Mode) -> io::Result<()> {
        self.control(REGISTER, &mut [range.start as u64, range.bytes as u64, mode.0, 0])
    }

    /// Gives a range back to the kernel: waiting threads go on, and missing pages are zero.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn unregister(&self, range: Range) -> io::Result<()> {
        self.control(UNREGISTER, &mut [range.start as u64, range.bytes as u64])
    }

    /// An ioctl(2) whose argument is a structure of 64-bit numbers.
    pub(crate) fn control<const N: usize>(
        &self,
        request: libc::c_ulong,
        words: &mut [u64; N],
    ) -> io::Result<()> {
        debug_assert_eq!((request >> 16 & 0x3FFF) as usize, size_of_val(words));
        // SAFETY: the request's number says how long the structure is, and `words` is as long; what the
        // kernel does to other memory is the callers' promise.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), request, words.as_mut_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsFd for Userfaultfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
