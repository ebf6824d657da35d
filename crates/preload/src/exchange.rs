//! Pages of the program's memory come and go, here and to its mirror, where the store has them
//! ([`crate::store`]). Only the handler of faults does it: its descriptors are its own.
//!
//! How a page moves whatever the kernel says is [`sys::userfaultfd::carry`]'s. Zeros come only where the
//! mirror has nothing.

use crate::areas;
use crate::elsewhere::{self, real};
use crate::layout::{self, BASE, CALLS};
use crate::raw;
use crate::states::{self, HERE, HIDDEN, NEW, PINNED, THERE};
use crate::store::{Found, Store};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::ptr;
use sys::cpu::monotonic_ns;
use sys::userfaultfd::{
    Fate, Fault, Features, Kernel, Mode, Moved, Range, Refused, Scope, Userfaultfd, Wake, carry,
};

/// In a word of /proc/self/pagemap: the page is there; it is elsewhere, or on its way in physical memory;
/// nobody wrote to it since it was protected.
const PRESENT: u64 = 1 << 63;
const ELSEWHERE: u64 = 1 << 62;
const UNWRITTEN: u64 = 1 << 57;
/// Words that are read at once: of a page of 2 MiB.
const WORDS: usize = 512;

static ZEROS: [u8; WORDS * BASE] = [0; WORDS * BASE];

/// A wait that is over so soon is spun through: to be woken takes as long.
const SPIN_NS: u64 = 60_000;
/// How long an answer of a server is looked for again and again before this thread sleeps.
const NEAR_NS: u64 = 100_000;
const SECOND_NS: u64 = 1_000_000_000;

/// When pages may have come that somebody waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// At this time.
    pub(crate) at: u64,
    /// Or as soon as a server answers.
    pub(crate) answer: Option<Answer>,
}

/// What a server was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) socket: i32,
    /// When it was asked for what comes next.
    pub(crate) asked: u64,
}

/// The descriptors.
pub(crate) struct Exchange {
    pub(crate) uffd: Userfaultfd,
    pagemap: File,
    /// The process's memory, whatever its protection.
    memory: Option<File>,
    /// Whether faults are looked for without waiting.
    looks: Cell<bool>,
}

const PAGEMAP: &str = "/proc/self/pagemap";

fn with_name(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{file}: {error}"))
}

impl Exchange {
    /// Takes charge of the program's memory and its mirror.
    pub(crate) fn open() -> Result<Exchange, Refused> {
        let features = Features::WRITE_PROTECT.and(Features::WRITE_PROTECT_ASYNC).and(Features::MOVE);
        let uffd = Userfaultfd::new(Scope::Everything, features.and(Features::THREAD))?;
        let pagemap = File::open(PAGEMAP).map_err(|error| Refused::Failed(with_name(PAGEMAP, &error)))?;
        let start = layout::start();
        let program = Range { start, bytes: layout::BYTES };
        let mirror = Range { start: layout::mirror(start), bytes: layout::BYTES + CALLS * BASE };
        for ours in areas::ours(program) {
            uffd.register(ours, Mode::MISSING_AND_PROTECTED).map_err(Refused::Failed)?;
        }
        uffd.register(mirror, Mode::MISSING).map_err(Refused::Failed)?;
        let memory = File::open("/proc/self/mem").ok();
        let exchange = Exchange { uffd, pagemap, memory, looks: Cell::new(false) };
        exchange.claim();
        Ok(exchange)
    }

    /// Takes charge of the program's memory elsewhere. What the kernel does not give stays local.
    pub(crate) fn claim(&self) {
        for part in elsewhere::all().into_iter().flat_map(areas::ours) {
            if self.uffd.register(real(part), Mode::MISSING_AND_PROTECTED).is_err() {
                states::set(part, PINNED);
            }
        }
    }

    /// The range, which is a page, is there, and threads that wait for it go on.
    pub(crate) fn bring(&self, range: Range, write: bool, store: &mut dyn Store) {
        self.place(range, write, store);
        self.wake(range);
    }

    /// The range, which is a page, is there: what is remote is fetched, what is new is zero.
    pub(crate) fn place(&self, range: Range, write: bool, store: &mut dyn Store) {
        states::runs(range, |state, run| match state {
            HIDDEN => self.fetch(run, !write),
            THERE => match store.find(run) {
                Found::InMirror => self.fetch(run, !write),
                Found::At(content) => self.fill(run, Some(content), !write),
            },
            _ => {
                store.fresh(run);
                // What is neither new nor there, somebody removed behind our back: it is zero, as it would be
                // without us.
                self.zero(run, state == NEW && !write);
            }
        });
        states::set(range, HERE);
    }

    /// Threads that wait for a page go on.
    pub(crate) fn wake(&self, range: Range) {
        let _ = self.uffd.wake(real(range));
    }

    /// What of the range, which stays local, is missing is zero.
    pub(crate) fn place_zeros(&self, range: Range) {
        self.fill(range, None, false);
    }

    fn zero(&self, range: Range, protect: bool) {
        let mut stored = false;
        self.look(mirror(range), |_, word| stored |= is_there(word));
        if stored {
            raw::die("a page that nobody has written is in remote memory");
        }
        self.fill(range, None, protect);
    }

    /// A copy of what lies at this address, or zeros.
    fn fill(&self, range: Range, content: Option<usize>, protect: bool) {
        let (mut done, mut step) = (0, range.bytes);
        while done < range.bytes {
            let left = Range { start: range.start + done, bytes: step.min(range.bytes - done) };
            let from = content.map_or(ZEROS.as_ptr() as usize, |content| content + done);
            // SAFETY: the program has not seen these pages since they were given to it, or left: they hold
            // nothing.
            let filled = unsafe { self.uffd.copy(real(left), from, protect, Wake::Later) };
            let Err(Moved { bytes, error }) = filled else {
                done += left.bytes;
                continue;
            };
            done += bytes;
            match error.raw_os_error() {
                Some(libc::EAGAIN) => {}
                Some(libc::EEXIST) => done += BASE,
                // Parts of it are protected in different ways, which the kernel does not fill at once.
                Some(libc::ENOENT) if step > BASE => step = BASE,
                // Nobody has this memory any more: a thread that waits for it gets what it would get without
                // us.
                Some(libc::ENOENT) => done += BASE,
                _ => lost("a page that is copied", &error),
            }
        }
    }

    /// As above, and threads that wait for it go on.
    fn bring_zero(&self, address: usize) {
        self.zero_page(address);
        self.wake_page(address);
    }

    /// A page of zeros is there.
    pub(crate) fn zero_page(&self, address: usize) {
        self.fill(Range { start: address, bytes: BASE }, None, false);
    }

    /// Threads that wait for a page go on.
    pub(crate) fn wake_page(&self, address: usize) {
        self.wake(Range { start: address, bytes: BASE });
    }

    fn fetch(&self, range: Range, protect: bool) {
        let from = layout::mirror(range.start);
        let here = |page: Range, fate| {
            if fate != Fate::Moved {
                raw::die(&format!("{} bytes in the mirror are {fate:?}", page.bytes));
            }
        };
        if let Err(error) = carry(&mut Inwards(self), range, from, here) {
            lost("a page in the mirror", &error);
        }
        if protect && let Err(error) = self.uffd.write_protect(real(range), true, Wake::Later) {
            lost("a page under write protection", &error);
        }
    }

    /// What is within the program's reach is hidden in the mirror, which is empty there; what can't be stays.
    pub(crate) fn hide(&self, range: Range) {
        let gone = |page, fate| match fate {
            Fate::Moved => states::set(page, HIDDEN),
            Fate::Missing => states::set(page, NEW),
            Fate::Stays => {}
        };
        states::runs(range, |state, run| {
            if state == HERE
                && let Err(error) = carry(&mut Outwards(self), mirror(run), run.start, gone)
            {
                lost("a page that leaves", &error);
            }
        });
    }

    /// Whether there is a page at this address, be it on its way in physical memory.
    fn has(&self, address: usize) -> bool {
        let mut has = false;
        self.look(Range { start: address, bytes: BASE }, |_, word| has = is_there(word));
        has
    }

    fn take(&self, to: Range, from: usize) -> Result<(), Moved> {
        // SAFETY: what is moved to the program's memory is its content; a thread that touches what is moved
        // from there waits for it. Nobody else looks at the mirror.
        unsafe { self.uffd.take(real(to), real_at(from), Wake::Later) }
    }

    fn copy(&self, to: Range, from: usize) -> io::Result<()> {
        // SAFETY: as for `take`.
        unsafe { self.uffd.copy(real(to), real_at(from), false, Wake::Later) }.map_err(|moved| moved.error)
    }

    /// Calls with the address of each page of the range that somebody wrote to since it came, and that is
    /// within reach.
    pub(crate) fn written(&self, range: Range, mut each: impl FnMut(usize)) {
        self.look(range, |address, word| {
            if word & PRESENT != 0 && word & UNWRITTEN == 0 {
                each(address);
            }
        });
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
        elsewhere::each_part(range, |part| self.look_at(part, &mut each));
    }

    /// At what is within one stand-in, or outside of all.
    fn look_at(&self, range: Range, each: &mut impl FnMut(usize, u64)) {
        let mut bytes = [0; WORDS * 8];
        let away = real_at(range.start).wrapping_sub(range.start);
        for start in (range.start..range.start + range.bytes).step_by(WORDS * BASE) {
            let pages = ((range.start + range.bytes - start) / BASE).min(WORDS);
            let words = &mut bytes[..pages * 8];
            let word = start.wrapping_add(away) / BASE * 8;
            if let Err(error) = self.pagemap.read_exact_at(words, word as u64) {
                lost("/proc/self/pagemap", &error);
            }
            let (words, _) = words.as_chunks();
            words
                .iter()
                .enumerate()
                .for_each(|(at, word)| each(start + at * BASE, u64::from_ne_bytes(*word)));
        }
    }

    /// From now on faults are served while others wait.
    pub(crate) fn serve_others(&self) {
        if !self.looks.replace(true) {
            // SAFETY: a number; sleeps of this thread end when they should, not up to 50 µs later.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
            if let Err(error) = self.uffd.never_block() {
                lost("page faults", &error);
            }
        }
    }

    /// The next fault; nothing when pages may have come before there is one.
    pub(crate) fn fault(&self, until: Option<Until>) -> Option<Fault> {
        loop {
            match self.uffd.read() {
                Ok(fault) if layout::is_call(fault.address) => return Some(fault),
                Ok(fault) => match elsewhere::inward(fault.address) {
                    Some(address) => return Some(Fault { address, ..fault }),
                    // The program has moved what was in our charge: it gets what it would get without us.
                    None => self.bring_zero(fault.address),
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => raw::die(&format!("page faults can't be read: {error}")),
            }
            let Some(until) = until else {
                self.sleep(None, SECOND_NS);
                continue;
            };
            let now = monotonic_ns();
            if now >= until.at {
                return None;
            }
            let left = until.at - now;
            match until.answer {
                Some(Answer { socket, asked }) => {
                    if now > asked + NEAR_NS {
                        self.sleep(Some(socket), left);
                    }
                    return None;
                }
                None if left > SPIN_NS => self.sleep(None, left - SPIN_NS),
                None => std::hint::spin_loop(),
            }
        }
    }

    /// Waits for an event, for something from a server, or so long.
    fn sleep(&self, socket: Option<i32>, ns: u64) {
        let wanted = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [wanted(self.uffd.as_fd().as_raw_fd()), wanted(socket.unwrap_or(-1))];
        let ns = ns.min(SECOND_NS - 1);
        let time = libc::timespec { tv_sec: 0, tv_nsec: ns as i64 };
        // SAFETY: two descriptors, of which one may be none.
        unsafe { libc::ppoll(fds.as_mut_ptr(), 2, &time, ptr::null()) };
    }

    /// Waits until so long after `since`; how long that was in the end, in ps. When that is over `now`
    /// already nothing is waited, and what took longer is not the wait's.
    pub(crate) fn wait(&self, since: u64, mut now: u64, delay_ps: u64) -> u64 {
        let until = since + delay_ps.div_ceil(1000);
        if now >= until {
            return delay_ps;
        }
        while now < until {
            std::hint::spin_loop();
            now = monotonic_ns();
        }
        (now - since) * 1000
    }
}

/// To the program. What a forked process has too is copied: nobody writes to the mirror.
struct Inwards<'a>(&'a Exchange);

impl Kernel for Inwards<'_> {
    fn take(&mut self, to: Range, from: usize) -> Result<(), Moved> {
        self.0.take(to, from)
    }

    fn copy(&mut self, to: Range, from: usize) -> io::Result<()> {
        self.0.copy(to, from)
    }

    fn has(&mut self, address: usize) -> io::Result<bool> {
        Ok(self.0.has(address))
    }

    fn unshare(&mut self, _: Range) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn discard(&mut self, page: Range) -> io::Result<()> {
        raw::advise(real_at(page.start), page.bytes, libc::MADV_DONTNEED).map(drop)
    }
}

/// From the program.
struct Outwards<'a>(&'a Exchange);

impl Kernel for Outwards<'_> {
    fn take(&mut self, to: Range, from: usize) -> Result<(), Moved> {
        self.0.take(to, from)
    }

    /// Of a page that the program may not write to: nobody changes it meanwhile, because who changes
    /// protection takes the pager's lock. One that it may not read either is read behind its protection.
    fn copy(&mut self, to: Range, from: usize) -> io::Result<()> {
        match (self.0.copy(to, from), &self.0.memory) {
            (Err(error), Some(memory)) if error.raw_os_error() == Some(libc::EFAULT) => {
                let mut content = [0u8; BASE];
                memory.read_exact_at(&mut content, real_at(from) as u64)?;
                self.0.copy(to, content.as_ptr() as usize)
            }
            (done, _) => done,
        }
    }

    fn has(&mut self, address: usize) -> io::Result<bool> {
        Ok(self.0.has(address))
    }

    fn unshare(&mut self, page: Range) -> io::Result<()> {
        raw::advise(real_at(page.start), page.bytes, libc::MADV_POPULATE_WRITE).map(drop)
    }

    fn discard(&mut self, page: Range) -> io::Result<()> {
        raw::advise(real_at(page.start), page.bytes, libc::MADV_DONTNEED).map(drop)
    }
}

fn is_there(word: u64) -> bool {
    word & (PRESENT | ELSEWHERE) != 0
}

fn real_at(address: usize) -> usize {
    real(Range { start: address, bytes: BASE }).start
}

fn mirror(range: Range) -> Range {
    Range { start: layout::mirror(range.start), ..range }
}

fn lost(what: &str, error: &io::Error) -> ! {
    raw::die(&format!("{what}: {error}"))
}
