//! Advice on memory. Pages: madvise(2), `MADV_HUGEPAGE` and `MADV_COLLAPSE`; prctl(2), `PR_SET_THP_DISABLE`.

use rustix::mm::{Advice, madvise};
use std::io;

/// Bytes of a page: from the C library, for rustix's way to it ends under valgrind.
fn page_size() -> usize {
    // SAFETY: sysconf(3) reads a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).expect("Linux tells the size of a page")
}

/// Asks for huge pages under a slice. It is advice: an error means that the kernel has none, and nothing else
/// changes.
///
/// # Errors
/// What the kernel says, `EINVAL` where it was built without transparent huge pages.
pub fn advise_huge_pages<T>(slice: &mut [T]) -> io::Result<()> {
    let bytes = size_of_val(slice);
    let start = slice.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(page_size());
    if skip >= bytes {
        return Ok(());
    }
    let whole = (bytes - skip) / page_size() * page_size();
    // SAFETY: `skip < bytes`, so the pointer stays within the slice.
    let first = unsafe { start.add(skip) };
    // SAFETY: whole pages inside a slice that is borrowed mutably; this advice never changes content.
    Ok(unsafe { madvise(first.cast(), whole, Advice::LinuxHugepage) }?)
}

/// From so many bytes on a vector that its owner goes through at random gains by huge pages: the processor's
/// memory of page addresses spans no more with small ones. Below, rounding up to huge pages would cost too
/// much memory.
const LARGE: usize = 4 << 20;

/// Advice to put what is there on huge pages now (Linux 6.1); libc has it for one C library only.
const MADV_COLLAPSE: i32 = 25;

/// Asks for huge pages under a vector, if it is large: under what it holds at once, and under its room to
/// grow. To be called when it has moved. A kernel that has none leaves everything as it is.
pub fn prefer_huge_pages<T>(values: &mut Vec<T>) {
    let bytes = values.capacity() * size_of::<T>();
    if bytes < LARGE {
        return;
    }
    let first = values.as_mut_ptr().cast::<u8>();
    let skip = first.align_offset(page_size());
    let held = values.len() * size_of::<T>();
    // SAFETY: `skip` is less than a page and `bytes` far more, so all are whole pages inside the vector's
    // memory, which is borrowed mutably; neither advice changes content, and an error means that nothing was
    // done.
    unsafe {
        let start = first.add(skip).cast();
        libc::madvise(start, (bytes - skip) / page_size() * page_size(), libc::MADV_HUGEPAGE);
        libc::madvise(start, held.saturating_sub(skip) / page_size() * page_size(), MADV_COLLAPSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_changes_nothing() {
        let mut data: Vec<u32> = (0..3 << 20).collect();
        match advise_huge_pages(&mut data) {
            Ok(()) => {}
            Err(error) => eprintln!("skipped: no transparent huge pages ({error})"),
        }
        assert!(data.iter().enumerate().all(|(i, x)| i as u32 == *x));
        advise_huge_pages(&mut data[..10]).unwrap();
        advise_huge_pages::<u8>(&mut []).unwrap();
    }

    #[test]
    fn a_vector_on_huge_pages_keeps_what_it_holds() {
        for held in [0, 1, 1 << 20, 3 << 20] {
            let mut data: Vec<u32> = Vec::with_capacity(3 << 20);
            data.extend(0..held);
            prefer_huge_pages(&mut data);
            data.extend(held..3 << 20);
            assert!(data.iter().enumerate().all(|(i, x)| i as u32 == *x));
        }
    }
}
