//! Moves pages between the program's memory and its mirror. Only the handler of faults does: its descriptors are its own.
//!
//! Pages move by `UFFDIO_MOVE`, which refuses what must not be moved: what is shared with a forked process (it is made this
//! process's own first, or copied where it is only read) and what a device uses (it stays).

use crate::layout::{self, BASE};
use crate::mappings::runs_code;
use crate::raw;
use crate::states::{self, HERE, NEW, THERE};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use sys::cpu::monotonic_ns;
use sys::userfaultfd::{Features, Mode, Moved, Range, Refused, Scope, Userfaultfd, Wake};

/// In a word of /proc/self/pagemap: the page is there; it is elsewhere, or on its way in physical memory; nobody wrote to it since it was
/// protected.
const PRESENT: u64 = 1 << 63;
const ELSEWHERE: u64 = 1 << 62;
const UNWRITTEN: u64 = 1 << 57;
/// Words that are read at once: of a page of 2 MiB.
const WORDS: usize = 512;

static ZEROS: [u8; WORDS * BASE] = [0; WORDS * BASE];

/// The descriptors.
pub(crate) struct Exchange {
    pub(crate) uffd: Userfaultfd,
    pagemap: File,
}

impl Exchange {
    /// Takes charge of the program's memory and its mirror.
    pub(crate) fn open() -> Result<Exchange, Refused> {
        let features = Features::WRITE_PROTECT.and(Features::WRITE_PROTECT_ASYNC).and(Features::MOVE);
        let uffd = Userfaultfd::new(Scope::Everything, features.and(Features::THREAD))?;
        let pagemap = File::open("/proc/self/pagemap").map_err(Refused::Failed)?;
        let start = layout::start();
        let program = Range { start, bytes: layout::BYTES };
        let mirror = Range { start: layout::mirror(start), bytes: layout::BYTES };
        uffd.register(program, Mode::MISSING_AND_PROTECTED).map_err(Refused::Failed)?;
        uffd.register(mirror, Mode::MISSING).map_err(Refused::Failed)?;
        Ok(Exchange { uffd, pagemap })
    }

    /// The range, which is a page, is there: what is remote is fetched, what is new is zero, and who waits goes on.
    pub(crate) fn bring(&self, range: Range, write: bool) {
        states::runs(range, |state, run| match state {
            THERE => self.fetch(run, !write),
            NEW => self.fill(run, !write),
            // Somebody removed it behind our back: it is zero, as it would be without us.
            _ => self.fill(run, false),
        });
        states::set(range, HERE);
        let _ = self.uffd.wake(range);
    }

    fn fill(&self, range: Range, protect: bool) {
        // SAFETY: the program has not seen these pages since they were given to it: they hold nothing.
        match unsafe { self.uffd.copy(range, ZEROS.as_ptr() as usize, protect, Wake::Later) } {
            Ok(()) => {}
            Err(Moved { bytes, error }) => match error.raw_os_error() {
                Some(libc::EAGAIN) => self.fill(rest(range, bytes), protect),
                Some(libc::EEXIST) if range.bytes - bytes > BASE => {
                    self.fill(rest(range, bytes + BASE), protect)
                }
                Some(libc::EEXIST) => {}
                _ => lost("a page of zeros", &error),
            },
        }
    }

    fn fetch(&self, range: Range, protect: bool) {
        let from = layout::mirror(range.start);
        // SAFETY: what the mirror holds is this page's content, and nobody else looks there.
        if let Err(Moved { bytes, error }) = unsafe { self.uffd.take(range, from, Wake::Later) } {
            let left = rest(range, bytes);
            match error.raw_os_error() {
                Some(libc::EAGAIN) => self.fetch(left, protect),
                Some(libc::EBUSY | libc::EINVAL) => self.fetch_shared(left, protect),
                Some(libc::EEXIST | libc::ENOENT)
                    if self.has_moved(left.start, layout::mirror(left.start)) =>
                {
                    self.protect(Range { bytes: BASE, ..left }, protect);
                    if left.bytes > BASE {
                        self.fetch(rest(left, BASE), protect);
                    }
                }
                _ => lost("a page of remote memory", &error),
            }
            if bytes == 0 {
                return;
            }
            return self.protect(Range { start: range.start, bytes }, protect);
        }
        self.protect(range, protect);
    }

    fn protect(&self, range: Range, protect: bool) {
        if protect && let Err(error) = self.uffd.write_protect(range, true, Wake::Later) {
            lost("a page under write protection", &error);
        }
    }

    /// The first page of the range is also a forked process's, or the program may not write to it: a copy will do, and the rest as before.
    fn fetch_shared(&self, range: Range, protect: bool) {
        let page = Range { start: range.start, bytes: BASE };
        let from = layout::mirror(page.start);
        // SAFETY: as for `fetch`.
        if let Err(Moved { error, .. }) = unsafe { self.uffd.copy(page, from, protect, Wake::Later) } {
            lost("a page of remote memory", &error);
        }
        self.drop_at(from);
        if range.bytes > BASE {
            self.fetch(rest(range, BASE), protect);
        }
    }

    /// The range leaves local memory; false when a part of it can't.
    pub(crate) fn send(&self, range: Range) -> bool {
        let mut all = true;
        states::runs(range, |state, run| all &= state != HERE || self.send_run(run));
        all
    }

    fn send_run(&self, range: Range) -> bool {
        let to = Range { start: layout::mirror(range.start), bytes: range.bytes };
        // SAFETY: who touches the page from now on waits for it; the mirror holds nothing there.
        match unsafe { self.uffd.take(to, range.start, Wake::Later) } {
            Ok(()) => states::set(range, THERE),
            Err(Moved { bytes, error }) => {
                states::set(Range { start: range.start, bytes }, THERE);
                let left = rest(range, bytes);
                let page = Range { start: left.start, bytes: BASE };
                match error.raw_os_error() {
                    Some(libc::EAGAIN) => return self.send_run(left),
                    Some(libc::EBUSY) if self.send_shared(page) => {}
                    Some(libc::EINVAL) if self.send_unwritable(page) => {}
                    Some(libc::EEXIST | libc::ENOENT)
                        if self.has_moved(layout::mirror(page.start), page.start) =>
                    {
                        states::set(page, THERE);
                    }
                    Some(libc::EEXIST) => lost("a page that leaves", &error),
                    Some(libc::ENOENT) => states::set(page, NEW),
                    _ => return false,
                }
                return left.bytes == BASE || self.send_run(rest(left, BASE));
            }
        }
        true
    }

    /// The page becomes this process's own, if it was a forked process's too; it stays when a device uses it.
    fn send_shared(&self, page: Range) -> bool {
        if raw::advise(page.start, page.bytes, libc::MADV_POPULATE_WRITE).is_err() {
            return self.send_unwritable(page);
        }
        let to = Range { start: layout::mirror(page.start), bytes: page.bytes };
        // SAFETY: as for `send_run`.
        let sent = unsafe { self.uffd.take(to, page.start, Wake::Later) }.is_ok();
        if sent {
            states::set(page, THERE);
        }
        sent
    }

    /// A page that the program may not write to can be copied without anybody changing it meanwhile: who changes protection
    /// takes the pager's lock. One that it may not read either stays.
    fn send_unwritable(&self, page: Range) -> bool {
        if runs_code() {
            return false;
        }
        let to = Range { start: layout::mirror(page.start), bytes: page.bytes };
        // SAFETY: the mirror holds nothing there.
        if unsafe { self.uffd.copy(to, page.start, false, Wake::Later) }.is_err() {
            return false;
        }
        self.drop_at(page.start);
        states::set(page, THERE);
        true
    }

    /// Whether a page is at `to` and no longer at `from`, although moving it there failed with `EEXIST`.
    ///
    /// While the kernel migrates a page in physical memory (compaction), `UFFDIO_MOVE` tries again. Linux 6.18 keeps the error of the first
    /// try, takes the second one, which moved the page, for a failure, and finds the page in its own way at the third.
    fn has_moved(&self, to: usize, from: usize) -> bool {
        self.holds(to) && !self.holds(from)
    }

    /// Whether there is a page at this address, be it on its way in physical memory.
    fn holds(&self, address: usize) -> bool {
        let mut holds = false;
        self.look(Range { start: address, bytes: BASE }, |_, word| holds = word & (PRESENT | ELSEWHERE) != 0);
        holds
    }

    fn drop_at(&self, address: usize) {
        if let Err(error) = raw::advise(address, BASE, libc::MADV_DONTNEED) {
            lost("a page that was copied", &error);
        }
    }

    /// Whether somebody wrote to the range since it came.
    pub(crate) fn written(&self, range: Range) -> bool {
        let mut written = false;
        self.look(range, |_, word| written |= word & PRESENT != 0 && word & UNWRITTEN == 0);
        written
    }

    /// Calls with the address of each page of the range that is there.
    pub(crate) fn present(&self, range: Range, mut each: impl FnMut(usize)) {
        self.look(range, |address, word| {
            if word & PRESENT != 0 {
                each(address);
            }
        });
    }

    fn look(&self, range: Range, mut each: impl FnMut(usize, u64)) {
        let mut bytes = [0; WORDS * 8];
        for start in (range.start..range.start + range.bytes).step_by(WORDS * BASE) {
            let pages = ((range.start + range.bytes - start) / BASE).min(WORDS);
            let words = &mut bytes[..pages * 8];
            if let Err(error) = self.pagemap.read_exact_at(words, (start / BASE * 8) as u64) {
                lost("/proc/self/pagemap", &error);
            }
            let (words, _) = words.as_chunks();
            words
                .iter()
                .enumerate()
                .for_each(|(at, word)| each(start + at * BASE, u64::from_ne_bytes(*word)));
        }
    }

    /// Waits until so long after `since`; how long that was in the end, in ps.
    pub(crate) fn wait(&self, since: u64, delay_ps: u64) -> u64 {
        let until = since + delay_ps / 1000;
        loop {
            let now = monotonic_ns();
            if now >= until {
                return (now - since) * 1000;
            }
            std::hint::spin_loop();
        }
    }
}

fn rest(range: Range, bytes: usize) -> Range {
    Range { start: range.start + bytes, bytes: range.bytes - bytes }
}

fn lost(what: &str, error: &io::Error) -> ! {
    raw::die(&format!("{what}: {error}"))
}
