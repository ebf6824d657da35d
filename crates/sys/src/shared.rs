//! Memory that other processes write too: mmap(2) with `MAP_SHARED`.
//!
//! Nothing of it is ever a reference or a slice: another process may change it at any moment. What is read
//! is a copy, what is written is copied, and single words are atomic.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A part of a file that is mapped for reading and writing.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is a place in memory; whoever reads or writes it copies or uses atomics, from any thread.
unsafe impl Send for Shared {}

/// A place outside of a mapping, or one that is not aligned for its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside;

macro_rules! word {
    ($load:ident, $store:ident, $word:ty, $atomic:ty) => {
        /// The word at `at`, with all that was written before it.
        pub fn $load(&self, at: usize) -> Result<$word, Outside> {
            let place = self.aligned(at, size_of::<$word>())?;
            // SAFETY: the place is within the mapping and aligned, and lives as long as `self`.
            Ok(unsafe { <$atomic>::from_ptr(place.cast()) }.load(Ordering::Acquire))
        }

        /// Writes the word at `at`, after all that was written before.
        pub fn $store(&self, at: usize, value: $word) -> Result<(), Outside> {
            let place = self.aligned(at, size_of::<$word>())?;
            // SAFETY: as for reading; the mapping is writable.
            unsafe { <$atomic>::from_ptr(place.cast()) }.store(value, Ordering::Release);
            Ok(())
        }
    };
}

impl Shared {
    /// Maps `len` bytes of a file from `offset` on.
    ///
    /// # Errors
    /// As mmap(2); also `UnexpectedEof` for a file that ends before.
    pub fn map(file: impl AsFd, offset: u64, len: usize) -> io::Result<Shared> {
        let size = rustix::fs::fstat(&file)?.st_size as u64;
        // What lies behind the end would raise SIGBUS.
        if offset.checked_add(len as u64).is_none_or(|end| end > size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                offset,
            )
        }?;
        Ok(Shared { start: NonNull::new(start.cast()).expect("the kernel maps nothing at zero"), len })
    }

    /// Bytes that are mapped.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies from `at` on.
    pub fn read(&self, at: usize, into: &mut [u8]) -> Result<(), Outside> {
        let place = self.place(at, into.len())?;
        // SAFETY: within the mapping; `into` is memory of its own. Whatever another process writes meanwhile,
        // any byte is a valid one.
        unsafe { std::ptr::copy_nonoverlapping(place, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies to `at`.
    pub fn write(&self, at: usize, bytes: &[u8]) -> Result<(), Outside> {
        let place = self.place(at, bytes.len())?;
        // SAFETY: within the mapping, which is writable; `bytes` is memory of its own.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        Ok(())
    }

    word!(load_u16, store_u16, u16, AtomicU16);
    word!(load_u32, store_u32, u32, AtomicU32);
    word!(load_u64, store_u64, u64, AtomicU64);

    fn place(&self, at: usize, len: usize) -> Result<*mut u8, Outside> {
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Outside);
        }
        // SAFETY: the place is within the mapping.
        Ok(unsafe { self.start.as_ptr().add(at) })
    }

    fn aligned(&self, at: usize, len: usize) -> Result<*mut u8, Outside> {
        if at.is_multiple_of(len) { self.place(at, len) } else { Err(Outside) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody has a reference into it.
        unsafe { munmap(self.start.as_ptr().cast(), self.len) }.expect("it was mapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    fn file(len: u64) -> std::os::fd::OwnedFd {
        let file = memfd_create("shared", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, len).unwrap();
        file
    }

    #[test]
    fn what_one_mapping_writes_another_reads() {
        let file = file(8192);
        let (one, other) = (Shared::map(&file, 0, 8192).unwrap(), Shared::map(&file, 4096, 4096).unwrap());
        one.write(4100, b"hello").unwrap();
        let mut read = [0; 5];
        other.read(4, &mut read).unwrap();
        assert_eq!(&read, b"hello");
        other.store_u64(8, 7).unwrap();
        assert_eq!(one.load_u64(4104), Ok(7));
    }

    #[test]
    fn nothing_outside_is_touched() {
        let shared = Shared::map(file(4096), 0, 4096).unwrap();
        assert_eq!(shared.read(4090, &mut [0; 7]), Err(Outside));
        assert_eq!(shared.write(usize::MAX, &[1]), Err(Outside));
        assert_eq!(shared.load_u32(4094), Err(Outside));
        assert_eq!(shared.load_u32(2), Err(Outside));
        assert!(shared.read(4096, &mut []).is_ok());
    }

    #[test]
    fn a_file_that_is_too_short_is_not_mapped() {
        assert_eq!(Shared::map(file(4096), 4096, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
