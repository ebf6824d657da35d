//! Pages go from one place to another, whatever the kernel says on the way: `UFFDIO_MOVE`, and a copy where a
//! page can't move.
//!
//! **An error is not believed; where the page is, is looked up at both ends.** `UFFDIO_MOVE` tries a page
//! again whose physical page is on its way meanwhile (compaction). Linux up to 6.18 keeps the error of the
//! first try, so it takes the second one, which moved the page, for a failure. At the third it finds the page
//! in its own way: `EEXIST`, or `ENOENT` where it was. Linux 6.18 moves several pages at a try, so that those
//! behind it are gone too.
//!
//! A page that is also a forked process's (`EBUSY`) is made this process's own first; one that can't be
//! written to (`EINVAL`) is copied, if it is refused alone too: several are also refused where parts of them
//! are protected in different ways. What a device uses stays.

use super::{Moved, Range};
use std::io;

/// The processor's page size.
const PAGE: usize = 4096;
/// How often a page is tried again that is where it was, its place free, although the kernel says otherwise.
const TRIES: u32 = 1000;

/// What is asked of the kernel: here, and not another way, so that tests can stand in for it.
pub trait Kernel {
    /// As [`super::Userfaultfd::take`].
    fn take(&mut self, to: Range, from: usize) -> Result<(), Moved>;

    /// A copy of a page; an error where nobody may read it or a copy could be wrong.
    fn copy(&mut self, to: Range, from: usize) -> io::Result<()>;

    /// Whether there is a page at this address, be it on its way in physical memory.
    fn has(&mut self, address: usize) -> io::Result<bool>;

    /// A page becomes this process's own; an error where it may not be written to, or need not be its own.
    fn unshare(&mut self, page: Range) -> io::Result<()>;

    /// A page is no longer needed.
    fn discard(&mut self, page: Range) -> io::Result<()>;
}

/// What became of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// They are where they were to come, and no longer where they were.
    Moved,
    /// There were none, on either side.
    Missing,
    /// They are where they were, because something uses them.
    Stays,
}

/// Carries pages from an address to a range where there are none; each is told once, by where it was.
///
/// # Errors
/// When a page is at both ends, and nobody knows which one is right, or the kernel doesn't say where it is.
pub fn carry(
    kernel: &mut impl Kernel,
    to: Range,
    from: usize,
    mut each: impl FnMut(Range, Fate),
) -> io::Result<()> {
    let (mut done, mut unshared, mut tries, mut step) = (0, None, 0, to.bytes);
    while done < to.bytes {
        let left = Range { start: to.start + done, bytes: step.min(to.bytes - done) };
        let Err(Moved { bytes, error }) = kernel.take(left, from + done) else {
            each(Range { start: from + done, bytes: left.bytes }, Fate::Moved);
            done += left.bytes;
            continue;
        };
        if bytes > 0 {
            each(Range { start: from + done, bytes }, Fate::Moved);
            done += bytes;
        }
        let number = error.raw_os_error();
        if number == Some(libc::EAGAIN) || done == to.bytes {
            continue;
        }
        if number == Some(libc::EINVAL) && left.bytes > PAGE {
            step = PAGE;
            continue;
        }
        let (page, place) =
            (Range { start: from + done, bytes: PAGE }, Range { start: to.start + done, bytes: PAGE });
        let fate = match (kernel.has(place.start)?, kernel.has(page.start)?, number) {
            (true, true, _) => return Err(error),
            (true, false, _) => Fate::Moved,
            (false, false, _) => Fate::Missing,
            (_, _, Some(libc::EEXIST | libc::ENOENT)) if tries < TRIES => {
                tries += 1;
                continue;
            }
            (_, _, Some(libc::EBUSY)) if unshared != Some(page) && kernel.unshare(page).is_ok() => {
                unshared = Some(page);
                continue;
            }
            (_, _, Some(libc::EBUSY | libc::EINVAL)) if unshared != Some(page) => copy(kernel, place, page)?,
            _ => Fate::Stays,
        };
        each(page, fate);
        (done, tries) = (done + PAGE, 0);
    }
    Ok(())
}

fn copy(kernel: &mut impl Kernel, place: Range, page: Range) -> io::Result<Fate> {
    if kernel.copy(place, page.start).is_err() {
        return Ok(Fate::Stays);
    }
    kernel.discard(page)?;
    Ok(Fate::Moved)
}

#[cfg(test)]
mod tests;
