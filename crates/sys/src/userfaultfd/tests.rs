//! Missing pages come by each way, and no other page changes.

use super::*;
use std::thread;

const PAGE: usize = 4096;

/// Pages that nobody else has; they stay until the tests end.
fn pages(count: usize, flags: i32) -> Range {
    let both = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, wherever there is room.
    let at =
        unsafe { libc::mmap(std::ptr::null_mut(), count * PAGE, both, flags | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    Range { start: at as usize, bytes: count * PAGE }
}

fn page(of: Range, index: usize) -> Range {
    Range { start: of.start + index * PAGE, bytes: PAGE }
}

fn read(address: usize) -> u8 {
    // SAFETY: a page of `pages`.
    unsafe { (address as *const u8).read_volatile() }
}

fn write(address: usize, value: u8) {
    // SAFETY: a page of `pages`.
    unsafe { (address as *mut u8).write_volatile(value) }
}

fn new(features: Features) -> Option<Userfaultfd> {
    match Userfaultfd::new(Scope::Program, features) {
        Ok(uffd) => Some(uffd),
        Err(refused @ (Refused::Permission | Refused::Kernel | Refused::Features)) => {
            eprintln!("skipped: {refused}");
            None
        }
        Err(refused) => panic!("{refused}"),
    }
}

fn fault(uffd: &Userfaultfd) -> Fault {
    uffd.read().unwrap()
}

#[test]
fn a_missing_page_is_copied_or_zero_and_says_who_waits() {
    let Some(uffd) = new(Features::THREAD) else { return };
    let (memory, source) = (pages(3, libc::MAP_PRIVATE), pages(1, libc::MAP_PRIVATE));
    write(source.start + 7, 42);
    uffd.register(memory, Mode::MISSING).unwrap();
    let reader = thread::spawn(move || {
        let first = read(memory.start + 7);
        write(memory.start + PAGE, 9);
        // SAFETY: gettid(2) has no conditions.
        (first, read(memory.start + PAGE + 1), unsafe { libc::gettid() } as u32)
    });
    let first = fault(&uffd);
    assert_eq!((first.address, first.write, first.protected), (memory.start, false, false));
    // SAFETY: the reader waits for what comes.
    unsafe { uffd.copy(page(memory, 0), source.start, false, Wake::Yes) }.unwrap();
    let second = fault(&uffd);
    assert_eq!((second.address, second.write), (memory.start + PAGE, true));
    // SAFETY: as above.
    unsafe { uffd.zero(page(memory, 1), Wake::Later) }.unwrap();
    uffd.wake(page(memory, 1)).unwrap();
    let (value, zero, thread) = reader.join().unwrap();
    assert_eq!((value, zero), (42, 0));
    assert_eq!((first.thread, second.thread), (thread, thread));
    // SAFETY: nobody uses the page.
    let there = unsafe { uffd.copy(page(memory, 0), source.start, false, Wake::Yes) }.unwrap_err();
    assert_eq!((there.bytes, there.error.raw_os_error()), (0, Some(libc::EEXIST)));
    uffd.unregister(memory).unwrap();
    assert_eq!(read(memory.start + 2 * PAGE), 0);
}

#[test]
fn a_page_moves_and_is_missing_where_it_was() {
    let Some(uffd) = new(Features::MOVE) else { return };
    let (here, there) = (pages(2, libc::MAP_PRIVATE), pages(2, libc::MAP_PRIVATE));
    write(here.start, 1);
    write(here.start + PAGE, 2);
    uffd.register(here, Mode::MISSING).unwrap();
    uffd.register(there, Mode::MISSING).unwrap();
    // SAFETY: nobody else knows these pages.
    unsafe { uffd.take(page(there, 1), here.start + PAGE, Wake::Later) }.unwrap();
    let reader = thread::spawn(move || (read(here.start), read(here.start + PAGE)));
    let missing = fault(&uffd);
    assert_eq!(missing.address, here.start + PAGE);
    // SAFETY: the reader waits for what comes.
    unsafe { uffd.take(page(here, 1), there.start + PAGE, Wake::Yes) }.unwrap();
    assert_eq!(reader.join().unwrap(), (1, 2));
    // SAFETY: nobody else knows these pages.
    let hole = unsafe { uffd.take(page(there, 0), there.start + PAGE, Wake::Later) }.unwrap_err();
    assert_eq!(hole.error.raw_os_error(), Some(libc::ENOENT));
}

#[test]
fn a_write_under_protection_waits() {
    let Some(uffd) = new(Features::WRITE_PROTECT) else { return };
    let memory = pages(1, libc::MAP_PRIVATE);
    write(memory.start, 5);
    uffd.register(memory, Mode::MISSING_AND_PROTECTED).unwrap();
    uffd.write_protect(memory, true, Wake::Later).unwrap();
    assert_eq!(read(memory.start), 5);
    let writer = thread::spawn(move || {
        write(memory.start, 6);
        read(memory.start)
    });
    let waits = fault(&uffd);
    assert!(waits.write && waits.protected);
    uffd.write_protect(memory, false, Wake::Yes).unwrap();
    assert_eq!(writer.join().unwrap(), 6);
}

#[test]
fn refusals_say_the_way_out() {
    for (refused, way) in [
        (Refused::Permission, "vm.unprivileged_userfaultfd=1"),
        (Refused::Permission, "CAP_SYS_PTRACE"),
        (Refused::Kernel, "CONFIG_USERFAULTFD"),
        (Refused::Features, "Linux 6.8"),
    ] {
        assert!(refused.to_string().contains(way));
    }
}
