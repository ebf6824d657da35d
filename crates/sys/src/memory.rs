//! Advice on memory. Page: madvise(2), `MADV_HUGEPAGE`.

use rustix::mm::{Advice, madvise};
use rustix::param::page_size;
use std::io;

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
}
