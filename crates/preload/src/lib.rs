//! The library that `incast farmem run` loads into a program (`LD_PRELOAD`): its anonymous memory lies on
//! remote memory.
//!
//! Malloc and anonymous mmap(2) are answered from one range of addresses ([`layout`]). Beside it lies its
//! mirror, of the same size, which is the remote memory: `UFFDIO_MOVE` takes a page there without a moment at
//! which it is in both or in none ([`pager`]). So threads that write while a page leaves lose nothing, and a
//! page that a device uses stays. It comes back by a move or as a copy ([`store`]).
//!
//! **The handler of page faults is a thread of the program** ([`handler`]), not another process: only within
//! a process can pages be moved; the switch to it needs no other page tables; and a fork takes the remote
//! pages along, so that the child's are its own. It runs nothing of the program and touches none of its
//! memory, and has blocked all signals. It has a table of file descriptors of its own, so that no program can
//! close its descriptor.
//!
//! As long as all that the program asked for fits into local memory, nothing is registered and no thread
//! exists: the program runs as it would without this library. Static data that begins as zeros and mappings
//! at addresses that the program chose keep their addresses; addresses of the range stand in for them
//! ([`elsewhere`]). Some memory stays local: thread stacks, initialised data, memory that code runs from,
//! mapped files, and what the C library and the loader allocate for themselves (open files, thread-local
//! storage). So does what the program gets by
//! instructions of its own that enter the kernel: the launcher says how much of its memory all that is.
//!
//! **Tests export nothing**: names of the C library, this library's allocator and its beginning exist only
//! outside of `cfg(test)`, so a test keeps the C library's malloc and calls ours as ordinary functions.
#![allow(unsafe_code, reason = "it implements C interfaces on raw memory; each block says why it is sound")]
#![cfg_attr(test, allow(dead_code, reason = "tests export nothing, so the loader's ways in are not used"))]

mod affinity;
mod areas;
mod brk;
mod bss;
mod callers;
mod calls;
mod config;
mod elsewhere;
mod exchange;
mod fork;
mod granted;
mod growing;
mod grown;
mod handler;
mod heap;
mod hints;
mod layout;
mod loading;
mod lock;
mod malloc;
mod mappings;
mod pager;
mod private;
mod quiet;
mod raw;
mod runs;
mod signals;
mod stacks;
mod start;
mod states;
mod stats;
mod store;
#[cfg(test)]
mod testing;
mod theirs;
mod threads;
mod touched;
mod tracing;
mod trip;
