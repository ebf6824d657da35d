//! The pager on real mappings: whatever leaves comes back as it was, from each kind of remote memory.

use crate::config::is_remote;
use crate::layout::{self, BASE};
use crate::mappings::{madvise, mmap, mprotect, mremap, munmap};
use crate::stats::{self, stats};
use crate::testing::{alone, can_handle_faults, want};
use crate::threads::pthread_create;

use libc::c_void;
use memserver::{Server, Settings};
use std::net::SocketAddr;
use std::ptr::null_mut;
use std::sync::mpsc;
use std::time::Duration;
use sys::cpu::monotonic_ns;

/// Four times what is local.
const PAGES: usize = 256;
const BOTH: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// A mapping of the program's.
#[derive(Clone, Copy)]
struct Memory(*mut u64);

// SAFETY: the tests' threads use pages of their own.
unsafe impl Send for Memory {}

impl Memory {
    fn map(pages: usize) -> Memory {
        let at = mmap(null_mut(), pages * BASE, BOTH, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        assert!(layout::offset(at as usize).is_some(), "it is the program's range");
        Memory(at.cast())
    }

    fn page(self, page: usize) -> *mut c_void {
        self.0.wrapping_byte_add(page * BASE).cast()
    }

    /// A word in the middle of a page.
    fn get(self, page: usize) -> u64 {
        // SAFETY: inside the mapping.
        unsafe { self.page(page).cast::<u64>().add(100).read_volatile() }
    }

    fn set(self, page: usize, value: u64) {
        // SAFETY: as above.
        unsafe { self.page(page).cast::<u64>().add(100).write_volatile(value) };
    }
}

/// All pages are written, and read and written again in an order that repeats nothing soon.
fn write_and_read(memory: Memory) {
    (0..PAGES).for_each(|page| memory.set(page, page as u64 + 1));
    for round in 0..4 {
        for step in 0..PAGES {
            let page = (step * 97 + round * 31) % PAGES;
            let value = memory.get(page);
            assert_eq!(value % 1000, page as u64 + 1, "page {page}, round {round}");
            if page.is_multiple_of(3) {
                assert_eq!(value / 1000, round as u64);
                memory.set(page, value + 1000);
            }
        }
    }
}

fn begin(wanted: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a name");
    std::fs::write(folder.path().join("server.key"), [5; 16]).expect("it can be written");
    stats::begin(path);
    want(&format!("local=262144,folder={path},{wanted}"));
    folder
}

#[test]
fn pages_in_the_mirror_come_back_as_they_left() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let _folder = begin("latency=1000000,rate=100000000000");
        let memory = Memory::map(PAGES);
        assert!(is_remote(), "it asked for more than local memory has");
        write_and_read(memory);
        let waited = stats().injected_ps.get();
        assert!(stats().pages_in.get() > PAGES as u64 && stats().pages_out.get() > 0);
        assert!(stats().pages_dropped.get() > 0, "what nobody wrote to is not sent");
        assert!(
            waited >= stats().faults.get() * 1_000_000,
            "each fault waits its latency at least: {waited} ps"
        );
    });
}

#[test]
fn all_is_local_until_more_is_asked_for() {
    alone!({
        let _folder = begin("latency=1000000,rate=100000000000");
        let memory = Memory::map(64);
        memory.set(63, 1);
        assert!(!is_remote() && stats().asked_bytes.get() == 64 * BASE as u64);
    });
}

#[test]
fn what_was_touched_before_memory_became_remote_is_kept() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let _folder = begin("latency=1000000,rate=100000000000");
        let early = Memory::map(60);
        (0..60).for_each(|page| early.set(page, 7));
        write_and_read(Memory::map(PAGES));
        assert!((0..60).all(|page| early.get(page) == 7));
        assert_eq!(stats().adopted.get(), 60);
    });
}

#[test]
fn packed_pages_come_back_as_they_left() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let _folder = begin("latency=1000000,rate=100000000000,codec=lz4");
        write_and_read(Memory::map(PAGES));
        assert!(stats().bytes_in.get() * 4 < stats().pages_in.get() * BASE as u64, "they are nearly empty");
    });
}

#[test]
fn larger_pages_and_reading_ahead_bring_the_same() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let folder = begin("latency=1000000,rate=100000000000,page=16384,read_ahead=2,trace=1");
        write_and_read(Memory::map(PAGES));
        let path = stats::beside("trace").expect("a trace is wanted");
        let bytes = std::fs::read(path).expect("a trace");
        assert!(farmem::trace::Trace::read(&bytes).expect("a trace").accesses() >= stats().faults.get());
        drop(folder);
    });
}

/// Where a memory server listens, for as long as the process lives.
fn serve() -> SocketAddr {
    let (tell, told) = mpsc::channel();
    let settings = Settings {
        memory: 64 << 20,
        client_memory: 64 << 20,
        connections: 4,
        timeout: Duration::from_secs(10),
    };
    std::thread::spawn(move || {
        let at = "127.0.0.1:0".parse().expect("an address");
        let server = Server::listen(at, farmem::wire::Key([5; 16]), [1; 16], settings).expect("it listens");
        tell.send(server.address().expect("an address")).expect("somebody listens");
        server.run(&mut |_| {})
    });
    told.recv().expect("an address")
}

#[test]
fn a_server_keeps_pages_and_returns_them() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let address = serve();
        let _folder = begin(&format!("server={address}"));
        let memory = Memory::map(PAGES);
        write_and_read(memory);
        assert!(stats().server_ns.get() > 0 && stats().pages_in.get() > PAGES as u64);
        assert_eq!(madvise(memory.page(0), PAGES * BASE / 2, libc::MADV_DONTNEED), 0);
        assert!((0..PAGES / 2).all(|page| memory.get(page) == 0), "what was given back is zero");
        assert!((PAGES / 2..PAGES).all(|page| memory.get(page) % 1000 == page as u64 + 1));
    });
}

#[test]
fn what_is_given_back_is_zero_and_what_moves_stays_as_it_was() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let _folder = begin("latency=1000000,rate=100000000000");
        let memory = Memory::map(PAGES);
        (0..PAGES).for_each(|page| memory.set(page, page as u64 + 1));
        assert_eq!(madvise(memory.page(10), 5 * BASE, libc::MADV_DONTNEED), 0);
        let is_as_before = |memory: Memory, page: usize| {
            memory.get(page) == if (10..15).contains(&page) { 0 } else { page as u64 + 1 }
        };
        assert!((0..PAGES).all(|page| is_as_before(memory, page)));
        // What may only be read still leaves and comes.
        assert_eq!(mprotect(memory.page(0), PAGES * BASE, libc::PROT_READ), 0);
        assert!((0..PAGES).rev().all(|page| is_as_before(memory, page)));
        assert_eq!(mprotect(memory.page(0), PAGES * BASE, BOTH), 0);
        let blocking = Memory::map(1);
        // SAFETY: the mapping above, which is not used afterwards.
        let moved = unsafe {
            mremap(memory.page(0), PAGES * BASE, 2 * PAGES * BASE, libc::MREMAP_MAYMOVE, null_mut())
        };
        assert!(moved != libc::MAP_FAILED && moved != memory.page(0), "something lies behind it");
        let moved = Memory(moved.cast());
        assert!((0..PAGES).all(|page| is_as_before(moved, page)));
        assert!((PAGES..2 * PAGES).all(|page| moved.get(page) == 0));
        assert_eq!([munmap(blocking.page(0), BASE), munmap(moved.page(0), 2 * PAGES * BASE)], [0, 0]);
        let again = Memory::map(PAGES);
        assert!((0..PAGES).all(|page| again.get(page) == 0), "addresses that are used again");
    });
}

extern "C-unwind" fn count_up(memory: *mut c_void) -> *mut c_void {
    let memory = Memory(memory.cast());
    for round in 0..8 {
        for page in 0..PAGES / 2 {
            assert_eq!(memory.get(page), round);
            memory.set(page, round + 1);
        }
    }
    null_mut()
}

#[test]
fn waits_of_several_threads_overlap() {
    alone!({
        if !can_handle_faults() {
            return;
        }
        let _folder = begin("latency=500000000,rate=100000000000");
        let memory = Memory::map(PAGES);
        let began = monotonic_ns();
        let mut threads = [0; 2];
        for (half, thread) in threads.iter_mut().enumerate() {
            let at = memory.page(half * PAGES / 2);
            // SAFETY: each thread has a half of the mapping, which outlives both.
            assert_eq!(unsafe { pthread_create(thread, std::ptr::null(), count_up, at) }, 0);
        }
        for thread in threads {
            // SAFETY: a thread that was started above.
            assert_eq!(unsafe { libc::pthread_join(thread, null_mut()) }, 0);
        }
        let (took, waited) = (
            Duration::from_nanos(monotonic_ns() - began),
            Duration::from_nanos(stats().injected_ps.get() / 1000),
        );
        assert!((0..PAGES).all(|page| memory.get(page) == 8));
        assert!(took < waited.mul_f64(0.8), "{took:?} for waits of {waited:?}");
    });
}
