//! The trace of what faults show ([`farmem::trace`]), in a file that outlives the program: a mapping to which
//! records are appended.
//!
//! The first write to a page that was only read when it came is seen when the page leaves, and written down
//! then: before it could matter. The file is as long as a trace may be, but takes little more than what is
//! written; the launcher cuts it off behind the last record.
//!
//! The space for records is reserved before they are written: a write to a mapping of a full disk would end
//! the program (SIGBUS, mmap(2)). Where there is no space, or the trace is as long as it may be, it ends, and
//! the launcher hears of it.

use crate::config::Config;
use crate::raw;
use crate::stats::stats;
use farmem::trace::{Header, Pages, RECORD, Record};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use sys::file::reserve;

/// Longest trace: a quarter of what can be read. Tests fill one.
const BYTES: usize = if cfg!(test) { 2 << 20 } else { 1 << 30 };
/// So much of it is reserved at a time.
const STEP: usize = 1 << 20;

/// Why a trace lacks its end, as the launcher reads it.
#[derive(Clone, Copy)]
enum Cut {
    NoSpace = 1,
    TooLong = 2,
    /// There is none: its file can't be made, for another reason than space.
    NoFile = 3,
}

fn tell(why: Cut) {
    stats().untraced.set(why as u64);
}

/// A trace that is being taken.
pub(crate) struct Tracing {
    at: usize,
    used: usize,
    /// Bytes that are reserved.
    room: usize,
    /// There is no space for more.
    full: bool,
    path: PathBuf,
    bits: u32,
    header: Header,
    /// What the clock showed when the program went on.
    resumed_ns: u64,
}

impl Tracing {
    /// Nothing where no trace is wanted, or no file can be had.
    pub(crate) fn begin(config: &Config, path: &Path, now_ns: u64) -> Option<Tracing> {
        let why = |error: &io::Error| if is_full(error) { Cut::NoSpace } else { Cut::NoFile };
        let at = map(path).inspect_err(|error| tell(why(error))).ok()?;
        let header = Header {
            page_bits: config.page.ilog2() as u8,
            policy: config.policy,
            writes: true,
            capacity: (config.local / config.page) as u32,
        };
        let mut tracing = Tracing {
            at,
            used: 0,
            room: STEP,
            full: false,
            path: path.to_owned(),
            bits: config.page.ilog2(),
            header,
            resumed_ns: now_ns,
        };
        tracing.append(&header.encode());
        Some(tracing)
    }

    fn append(&mut self, record: &[u8; RECORD]) {
        // The last one stays zero, which ends a trace.
        let end = self.used + 2 * RECORD;
        if end > self.room {
            self.grow();
        }
        if end <= self.room {
            let to = (self.at + self.used) as *mut [u8; RECORD];
            // SAFETY: inside the mapping, which is as long and nobody else's.
            unsafe { to.write(*record) };
            self.used += RECORD;
        } else if !self.full {
            tell(Cut::TooLong);
        }
    }

    /// Reserves space for more records. The file is opened again, since a program may close all that is open.
    fn grow(&mut self) {
        if self.full || self.room == BYTES {
            return;
        }
        let file = OpenOptions::new().write(true).open(&self.path);
        let reserved = file.and_then(|file| reserve(&file, self.room as u64, STEP as u64));
        self.full = reserved.is_err_and(|error| is_full(&error));
        if self.full {
            tell(Cut::NoSpace);
        } else {
            // A process that may not open the file any more writes without a reservation.
            self.room += STEP;
        }
    }

    /// The program has so many pages local from now on: what a trace can foretell begins at the most of them.
    pub(crate) fn has_local(&mut self, pages: u32) {
        if pages > self.header.capacity {
            self.header.capacity = pages;
            // SAFETY: the beginning of the mapping, which is the header's.
            unsafe { (self.at as *mut [u8; RECORD]).write(self.header.encode()) };
        }
    }

    /// A thread touched a page that was not local; at 0, while nothing was computed.
    pub(crate) fn access(&mut self, page: u64, write: bool, thread: u32, now_ns: u64) {
        let of = self.of(page, 1, thread, now_ns);
        self.append(&if write { Record::Write(of) } else { Record::Read(of) }.encode());
    }

    /// A page that leaves was written to.
    pub(crate) fn wrote(&mut self, page: u64) {
        let of = self.of(page, 1, 0, 0);
        self.append(&Record::Dirty(of).encode());
    }

    /// The program has asked for so many bytes: with so much local memory, nothing was remote before.
    pub(crate) fn asked(&mut self, bytes: u64) {
        self.append(&Record::Asked(bytes).encode());
    }

    /// The program gave pages back.
    pub(crate) fn free(&mut self, address: usize, bytes: usize, now_ns: u64) {
        let (first, end) =
            (address.next_multiple_of(1 << self.bits) >> self.bits, (address + bytes) >> self.bits);
        if end > first {
            let pages = (end - first).min(u32::MAX as usize) as u32;
            let of = self.of(first as u64, pages, 0, now_ns);
            self.append(&Record::Free(of).encode());
        }
    }

    /// Bytes up to here.
    pub(crate) fn used(&self) -> u64 {
        self.used as u64
    }

    /// The program goes on.
    pub(crate) fn resume(&mut self, now_ns: u64) {
        self.resumed_ns = now_ns;
    }

    fn of(&mut self, page: u64, pages: u32, thread: u32, now_ns: u64) -> Pages {
        let computed = now_ns.saturating_sub(self.resumed_ns);
        self.resumed_ns = self.resumed_ns.max(now_ns);
        if computed > u64::from(u32::MAX) {
            self.append(&Record::Pass(computed).encode());
        }
        let computed_ns = u32::try_from(computed).unwrap_or(0);
        Pages { page, pages, thread: thread as u8, computed_ns }
    }
}

fn map(path: &Path) -> io::Result<usize> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    reserve(&file, 0, STEP as u64)?;
    file.set_len(BYTES as u64)?;
    raw::map(0, BYTES, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0)
}

/// Whether an error says that the disk is full.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use farmem::trace::Trace;

    #[test]
    fn the_file_holds_what_happened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        let config = Config::parse("local=1048576,rate=1,page=4096").expect("it can be");
        let mut tracing = Tracing::begin(&config, &path, 1000).expect("a trace");
        tracing.access(7, true, 3, 1500);
        tracing.resume(2000);
        tracing.access(8, false, 3, 2000 + (1 << 33));
        tracing.wrote(8);
        tracing.asked(4096);
        tracing.free((5 << 12) + 1, 3 << 12, 0);
        tracing.free(5 << 12, 4095, 0);
        tracing.has_local(300);
        tracing.has_local(10);

        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(bytes.len(), BYTES);
        let trace = Trace::read(&bytes).expect("a trace");
        assert_eq!((trace.header.page_bits, trace.header.capacity), (12, 300), "the most that was local");
        let of = |page, pages, thread, computed_ns| Pages { page, pages, thread, computed_ns };
        let expected = [
            Record::Write(of(7, 1, 3, 500)),
            Record::Pass(1 << 33),
            Record::Read(of(8, 1, 3, 0)),
            Record::Dirty(of(8, 1, 0, 0)),
            Record::Asked(4096),
            Record::Free(of(6, 2, 0, 0)),
        ];
        assert_eq!(trace.records().collect::<Vec<_>>(), expected, "parts of pages are not given back");
        assert_eq!(tracing.used() as usize, (1 + expected.len()) * RECORD);
    }

    #[test]
    fn a_trace_that_is_too_long_says_so() {
        alone!({
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("trace");
            let config = Config::parse("local=1048576,rate=1").expect("it can be");
            let mut tracing = Tracing::begin(&config, &path, 0).expect("a trace");
            let most = BYTES / RECORD - 2; // The first one is the header, the last one zero.
            (0..most).for_each(|page| tracing.access(page as u64, true, 0, 0));
            assert_eq!((tracing.used() as usize, stats().untraced.get()), (BYTES - RECORD, 0));
            tracing.access(0, true, 0, 0);
            assert_eq!((tracing.used() as usize, stats().untraced.get()), (BYTES - RECORD, 2));
            let bytes = std::fs::read(&path).expect("a file");
            assert_eq!(Trace::read(&bytes).expect("a trace").records().count(), most);
        });
    }

    #[test]
    fn an_earlier_trace_is_not_overwritten() {
        alone!({
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("trace");
            std::fs::write(&path, "somebody's").expect("it can be written");
            let config = Config::parse("local=1048576,rate=1").expect("it can be");
            assert!(Tracing::begin(&config, &path, 0).is_none());
            assert_eq!(
                (std::fs::read(&path).expect("a file"), stats().untraced.get()),
                (b"somebody's".into(), 3)
            );
        });
    }
}
