//! Linux behind safe types: the system calls that the standard library lacks.
//!
//! The unsafe code of the workspace is here, in `mem` (the caller's own memory) and in `preload` (C
//! interfaces on raw memory); everywhere else the compiler refuses it.
//!
//! One small file a subject, each with the manual page that it follows. Where a well-kept library has a
//! safe form (rustix, socket2, signal-hook) the file is a thin cover over it. No policy here: what is sent
//! when, how large a batch is and what an error means are the drivers' business.
//!
//! A program waits for descriptors, and SIGTERM ends its wait instead of the program:
//!
//! ```
//! use rustix::process::{Signal, getpid, kill_process};
//! use sys::{epoll::Epoll, signal::Requests};
//!
//! const SIGNALS: u64 = 1;
//! let mut epoll = Epoll::new()?;
//! let requests = Requests::catch()?;
//! epoll.add(&requests, SIGNALS)?;
//! kill_process(getpid(), Signal::TERM)?; // Another process would send it.
//! while !epoll.wait(None)?.any(|ready| ready.token == SIGNALS && ready.readable) {}
//! assert!(requests.take(), "the signal is kept until it is taken");
//! # Ok::<(), std::io::Error>(())
//! ```
#![allow(unsafe_code, reason = "this crate is where unsafe code lives; each block says why it is sound")]

pub mod bpf;
pub mod child;
pub mod cpu;
pub mod epoll;
pub mod file;
pub mod heap;
pub mod network;
pub mod shared;
pub mod signal;
pub mod sleep;
pub mod tcp;
pub mod udp;
pub mod userfaultfd;
pub mod waker;
