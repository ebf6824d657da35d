//! The C library's heap, which Rust's and Python's memory both come from. Pages: mallopt(3), malloc_trim(3).

/// From now on each block of so many bytes or more goes back to the kernel as soon as it is freed.
///
/// By default, a large block that is freed makes the next ones of its size come from the heap's own pieces.
/// These fit the worse the longer a program runs, so that it takes megabytes more than it holds.
/// False where the C library is another one than glibc: nothing has changed then.
pub fn return_blocks_from(bytes: u32) -> bool {
    #[cfg(target_env = "gnu")]
    // SAFETY: no memory is touched but the heap's own settings, under its own lock.
    return bytes <= i32::MAX as u32 && unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes as i32) } == 1;
    #[cfg(not(target_env = "gnu"))]
    return false;
}

/// Gives the kernel back what is free in the heap, between pieces in use too.
///
/// The heap keeps it otherwise. Other memory of the process does not come from there, like that of Polars.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: only pages of the heap that nobody uses are given back, under its own lock.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_that_the_heap_can_have_is_taken() {
        assert!(return_blocks_from(1 << 19));
        assert!(!return_blocks_from(u32::MAX));
    }
}
