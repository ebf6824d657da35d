//! What a page fault costs, by a clock of its own. `fault_cost touch PAGES SWEEPS STEP` goes through memory
//! from malloc, so many pages further each time, as a program that knows nothing of remote memory;
//! `fault_cost floor PAGES SWEEPS` is the least that userfaultfd(2) can do: a thread on the same processor
//! that reads a fault and copies a page.
//!
//! Prints nanoseconds a page of each sweep, without the first, in which pages are touched first. `fault_cost
//! reads PAGES SWEEPS` and `fault_cost writes PAGES SWEEPS` print those of each page: the former only reads
//! it, the latter reads, then writes.
#![allow(unsafe_code, reason = "it handles faults of memory of its own")]

use std::hint::black_box;
use std::ptr;
use sys::cpu::{allowed, monotonic_ns, pin};
use sys::userfaultfd::{Features, Mode, Range, Scope, Userfaultfd, Wake};

const PAGE: usize = 4096;
const EACH_MAX: usize = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number =
        |at: usize| arguments.get(at).and_then(|text| text.parse::<usize>().ok()).expect("a number of pages");
    match arguments.get(1).map(String::as_str) {
        Some("touch") => touch(number(2), number(3), number(4)),
        Some("floor") => floor(number(2), number(3)),
        Some("reads") => each(number(2), number(3), false),
        Some("writes") => each(number(2), number(3), true),
        _ => eprintln!("fault_cost touch PAGES SWEEPS STEP | fault_cost floor|reads|writes PAGES SWEEPS"),
    }
}

/// Goes through the pages once, so many further each time; nanoseconds a page.
fn sweep(start: *mut u8, pages: usize, step: usize) -> u64 {
    let began = monotonic_ns();
    for page in (0..pages).map(|turn| turn * step % pages) {
        // SAFETY: inside the caller's memory, which nobody else uses.
        unsafe {
            let at = start.add(page * PAGE);
            at.write_volatile(black_box(at.read_volatile().wrapping_add(1)));
        }
    }
    (monotonic_ns() - began) / pages as u64
}

fn touch(pages: usize, sweeps: usize, step: usize) {
    let mut memory = vec![0u8; pages * PAGE];
    sweep(memory.as_mut_ptr(), pages, step);
    (0..sweeps).for_each(|_| println!("{}", sweep(memory.as_mut_ptr(), pages, step)));
}

/// Goes through at most [`EACH_MAX`] pages, with an eye on each.
fn each(pages: usize, sweeps: usize, writes: bool) {
    let mut memory = vec![0u8; pages * PAGE];
    sweep(memory.as_mut_ptr(), pages, 1);
    // On the stack, which is not remote.
    let mut took = [0; EACH_MAX];
    let took = &mut took[..pages];
    for number in 0..=sweeps {
        for (took, page) in took.iter_mut().zip(memory.chunks_mut(PAGE)) {
            let began = monotonic_ns();
            let seen = black_box(page[0]).wrapping_add(1);
            if writes {
                page[0] = black_box(seen);
            }
            *took = monotonic_ns() - began;
        }
        // Before the first one all had been written to.
        if number > 0 {
            took.iter().for_each(|ns| println!("{ns}"));
        }
    }
}

fn floor(pages: usize, sweeps: usize) {
    let cpu = allowed().expect("a processor")[0];
    pin(cpu).expect("it is allowed");
    let uffd = Userfaultfd::new(Scope::Everything, Features::default()).expect("userfaultfd");
    let (both, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(ptr::null_mut(), pages * PAGE, both, flags, -1, 0) };
    let memory = Range { start: at as usize, bytes: pages * PAGE };
    uffd.register(memory, Mode::MISSING).expect("it is there");
    std::thread::spawn(move || {
        pin(cpu).expect("it is allowed");
        let source = [7u8; PAGE];
        while let Ok(fault) = uffd.read() {
            let page = Range { start: fault.address, bytes: PAGE };
            // SAFETY: the program waits for what comes.
            unsafe { uffd.copy(page, source.as_ptr() as usize, false, Wake::Yes) }.expect("it is missing");
        }
    });
    for _ in 0..sweeps {
        println!("{}", sweep(at.cast(), pages, 1));
        // SAFETY: nobody uses what it holds.
        unsafe { libc::madvise(at, pages * PAGE, libc::MADV_DONTNEED) };
    }
}
