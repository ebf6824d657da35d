//! System calls without the C library's functions, which this library stands in for: mmap(2), madvise(2), futex(2).

use std::io::{self, Write};
use std::sync::atomic::AtomicU32;

/// Addresses without memory behind them until they are touched. Nothing is promised about overcommitment.
pub(crate) fn reserve(bytes: usize) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
}

/// As mmap(2).
pub(crate) fn map(
    at: usize,
    bytes: usize,
    protection: i32,
    flags: i32,
    fd: i32,
    offset: i64,
) -> io::Result<usize> {
    // SAFETY: callers pass either no address, or one that the program or this library has charge of.
    result(unsafe { libc::syscall(libc::SYS_mmap, at, bytes, protection, flags, fd, offset) })
}

/// As munmap(2).
pub(crate) fn unmap(at: usize, bytes: usize) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { libc::syscall(libc::SYS_munmap, at, bytes) })
}

/// As mremap(2).
pub(crate) fn remap(at: usize, bytes: usize, new_bytes: usize, flags: i32, to: usize) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { libc::syscall(libc::SYS_mremap, at, bytes, new_bytes, flags, to) })
}

/// As mprotect(2).
pub(crate) fn protect(at: usize, bytes: usize, protection: i32) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { libc::syscall(libc::SYS_mprotect, at, bytes, protection) })
}

/// As madvise(2).
pub(crate) fn advise(at: usize, bytes: usize, advice: i32) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { libc::syscall(libc::SYS_madvise, at, bytes, advice) })
}

fn result(value: i64) -> io::Result<usize> {
    if value == -1 { Err(io::Error::last_os_error()) } else { Ok(value as usize) }
}

/// Waits as long as the word has this value; may return earlier.
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: futex(2) reads the word, which lives as long as the call.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, value, 0) };
}

/// Wakes so many who wait for the word.
pub(crate) fn wake(word: &AtomicU32, waiters: i32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, waiters) };
}

/// Sets errno, as C functions tell an error.
pub(crate) fn fail(error: i32) {
    // SAFETY: the C library's own place for this thread.
    unsafe { *libc::__errno_location() = error };
}

/// Ends the program where not even memory for a message can be had.
pub(crate) fn die_without_memory(why: &'static str) -> ! {
    // SAFETY: writes a text to the error output, and ends the process at once.
    unsafe {
        libc::write(2, why.as_ptr().cast(), why.len());
        libc::_exit(crate::config::FAILED)
    }
}

/// Ends the program: what it would go on with is wrong.
pub(crate) fn die(why: &str) -> ! {
    // The thread that handles faults has no descriptors of the program.
    let output = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/2");
    let text = format!("incast farmem: {why}\n");
    match output {
        Ok(mut output) => drop(output.write_all(text.as_bytes())),
        // SAFETY: writes a text to the error output.
        Err(_) => drop(unsafe { libc::write(2, text.as_ptr().cast(), text.len()) }),
    }
    // SAFETY: ends the process at once; nothing of the program runs any more.
    unsafe { libc::_exit(crate::config::FAILED) }
}
