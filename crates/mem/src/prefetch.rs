//! Asks the processor to bring a cache line nearer before it is read. Only a hint: nothing changes but the
//! time that a later read takes. On processors without such an instruction it does nothing.
//!
//! Intel SDM, PREFETCHT0; Arm A-profile, PRFM PLDL1KEEP.

/// Bytes of a cache line.
const LINE: usize = 64;

#[inline(always)]
fn prefetch_line(address: *const u8) {
    // SAFETY: a prefetch reads and writes no memory that the program can see, and never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Starts to bring the line that holds the first byte of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_line(std::ptr::from_ref(value).cast());
}

/// Starts to bring all lines that hold `value`.
#[inline(always)]
pub fn prefetch_whole<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|offset| prefetch_line(first.wrapping_add(offset)));
}

/// Starts to bring the line that holds `values[index]`; past the end it does nothing.
#[inline(always)]
pub fn prefetch_at<T>(values: &[T], index: usize) {
    if let Some(value) = values.get(index) {
        prefetch(value);
    }
}
