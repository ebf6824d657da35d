//! Addresses that a program suggests for its mappings, where the kernel is free to choose another.

use crate::{elsewhere, raw};
use libc::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Whether the program depends on the addresses that it suggests for reservations. Where it gives back one
/// that lies elsewhere, at once and as a whole, it does: Java machines do so, and some give up in the end.
/// Other programs suggest an address for most of what they map (V8), and take any.
pub(crate) struct Hints {
    /// The last reservation that lies elsewhere.
    start: AtomicUsize,
    bytes: AtomicUsize,
    matter: AtomicBool,
}

/// Of this program.
pub(crate) static HINTS: Hints =
    Hints { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), matter: AtomicBool::new(false) };

impl Hints {
    /// The program got its reservation elsewhere than it had suggested.
    pub(crate) fn not_followed(&self, start: usize, bytes: usize) {
        self.start.store(start, Relaxed);
        self.bytes.store(bytes, Relaxed);
    }

    /// The program gives these bytes back.
    pub(crate) fn given_back(&self, start: usize, bytes: usize) {
        if self.start.load(Relaxed) == start && self.bytes.load(Relaxed) == bytes {
            self.matter.store(true, Relaxed);
        }
    }

    /// A reservation where it was suggested; nothing if that is not known to matter, or not free.
    pub(crate) fn follow(&self, at: usize, bytes: usize, flags: c_int) -> Option<usize> {
        if !self.matter.load(Relaxed) {
            return None;
        }
        let flags = flags | libc::MAP_FIXED_NOREPLACE;
        let start = raw::map(at, bytes, libc::PROT_NONE, flags, -1, 0).ok()?;
        elsewhere::take(start, bytes);
        Some(start)
    }
}
