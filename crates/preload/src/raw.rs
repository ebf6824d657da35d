//! System calls without the C library's functions, which this library stands in for: mmap(2), madvise(2),
//! futex(2), and syscall(2) itself.

use crate::stats;
use std::io::{self, Write};
use std::sync::atomic::AtomicU32;

/// Exit code when remote memory can't be had.
pub(crate) const FAILED: i32 = 125;

/// Addresses without memory behind them until they are touched. Nothing is promised about overcommitment.
pub(crate) fn reserve(bytes: usize) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
}

/// As syscall(2), which is this library's own. An error is a negative number.
///
/// # Safety
/// As the call asks of its arguments.
pub(crate) unsafe fn call(number: i64, arguments: [usize; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result: i64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as the caller promises; the kernel changes these registers.
    unsafe {
        std::arch::asm!(
            "syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
            in("x4") e, in("x5") f, options(nostack),
        );
    }
    result
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
    result(unsafe {
        call(libc::SYS_mmap, [at, bytes, protection as usize, flags as usize, fd as usize, offset as usize])
    })
}

/// As munmap(2).
pub(crate) fn unmap(at: usize, bytes: usize) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { call(libc::SYS_munmap, [at, bytes, 0, 0, 0, 0]) })
}

/// As mremap(2).
pub(crate) fn remap(at: usize, bytes: usize, new_bytes: usize, flags: i32, to: usize) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { call(libc::SYS_mremap, [at, bytes, new_bytes, flags as usize, to, 0]) })
}

/// As mprotect(2).
pub(crate) fn protect(at: usize, bytes: usize, protection: i32) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { call(libc::SYS_mprotect, [at, bytes, protection as usize, 0, 0, 0]) })
}

/// As madvise(2).
pub(crate) fn advise(at: usize, bytes: usize, advice: i32) -> io::Result<usize> {
    // SAFETY: as above.
    result(unsafe { call(libc::SYS_madvise, [at, bytes, advice as usize, 0, 0, 0]) })
}

fn result(value: i64) -> io::Result<usize> {
    if (-4095..0).contains(&value) {
        Err(io::Error::from_raw_os_error(-value as i32))
    } else {
        Ok(value as usize)
    }
}

/// Waits as long as the word has this value; may return earlier.
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: futex(2) reads the word, which lives as long as the call.
    unsafe { futex(word, libc::FUTEX_WAIT, value as usize) };
}

/// Wakes so many who wait for the word.
pub(crate) fn wake(word: &AtomicU32, waiters: i32) {
    // SAFETY: as above.
    unsafe { futex(word, libc::FUTEX_WAKE, waiters as usize) };
}

unsafe fn futex(word: &AtomicU32, what: i32, value: usize) {
    let what = (what | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: as the caller promises.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, what, value, 0, 0, 0]) };
}

/// Sets errno, as C functions tell an error.
pub(crate) fn fail(error: i32) {
    // SAFETY: the C library's own place for this thread.
    unsafe { *libc::__errno_location() = error };
}

/// This thread's errno.
pub(crate) fn error() -> i32 {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Lets another thread run; false, for who looks again.
pub(crate) fn yield_processor() -> bool {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_sched_yield, [0; 6]) };
    false
}

/// Ends the program where not even memory for a message can be had.
pub(crate) fn die_without_memory(why: &'static str) -> ! {
    // SAFETY: writes a text to the error output, and ends the process at once.
    unsafe {
        libc::write(2, why.as_ptr().cast(), why.len());
        libc::_exit(FAILED)
    }
}

/// Ends the program: what it would go on with is wrong.
pub(crate) fn die(why: &str) -> ! {
    // The thread that handles faults has no descriptors of the program.
    let output = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/2");
    let text = format!("incast farmem: {why}\n");
    match output {
        Ok(mut output) => drop(output.write_all(text.as_bytes())),
        // Another user's, or in another root directory. SAFETY: writes a text to the error output.
        Err(_) if unsafe { libc::write(2, text.as_ptr().cast(), text.len()) } < 0 => stats::why(why),
        Err(_) => {}
    }
    // SAFETY: ends the process at once; nothing of the program runs any more.
    unsafe { libc::_exit(FAILED) }
}
