//! Remote memory as the pager sees it: where pages are that left, and how they come back.
//!
//! A page that leaves is moved to its place in the mirror ([`layout::mirror`]), where nobody but the store
//! touches it: there its content can't change any more. The store may leave it there, or take it elsewhere
//! and empty the place. All under the pager's lock; what isn't said otherwise by the thread that handles
//! faults, whose descriptors are its own.

mod in_server;
mod mirror;
mod packed;
mod packing;
mod table;

use crate::config::Config;
use crate::layout::{self, BASE};
use crate::raw;
use sys::userfaultfd::Range;

/// Where the content of pages is that come back.
pub(crate) enum Found {
    /// In their place in the mirror, from where it is moved: it is there no longer.
    InMirror,
    /// At this address, until the next call; it is copied from there.
    At(usize),
}

/// Remote memory.
pub(crate) trait Store: Send {
    /// A fault needs these pages and will [`Store::find`] them, after others have left.
    fn ask(&mut self, _pages: Range) {}

    /// What was asked for is on its way from now on.
    fn send(&mut self) {}

    /// Whether what was asked for first has come.
    fn has_answer(&mut self) -> bool {
        true
    }

    /// Where answers come from.
    fn socket(&self) -> Option<i32> {
        None
    }

    /// Pages come as zeros, which the store has nothing of.
    fn fresh(&mut self, _pages: Range) {}

    /// The mirror is empty where these pages belong, which are local: something else is to come there.
    fn vacate(&mut self, _pages: Range) {}

    /// Pages of the program have left and are in the mirror now. Not `dirty`: nobody was seen to write to
    /// them since they came, but a thread may have done so while they left.
    fn keep(&mut self, pages: Range, dirty: bool);

    /// The content of pages that left, to bring them back.
    fn find(&mut self, pages: Range) -> Found;

    /// Bytes that compression saves of these pages, which left, on their way.
    fn saved(&self, _pages: Range) -> u64 {
        0
    }

    /// The program has given up these pages, whichever of them left. Called by any thread.
    fn forget(&mut self, pages: Range);

    /// The thread that handles faults begins: in this process, or in a forked child.
    fn begin(&mut self) {}

    /// The process forks once all faults that have come are handled: the pages of now are the child's too.
    fn share(&mut self) {}

    /// This is the child; called by the thread that forked.
    fn forked(&mut self) {}
}

/// What the launcher wants.
pub(crate) fn open(config: &Config) -> Box<dyn Store> {
    match (&config.server, config.codec) {
        (Some(server), codec) => Box::new(in_server::InServer::new(server.clone(), codec, config.page)),
        (None, Some(codec)) => Box::new(packed::Packed::new(codec, config.page)),
        (None, None) => Box::new(mirror::Mirror::new()),
    }
}

/// Nothing is left in the mirror where these pages belong.
pub(crate) fn empty_mirror(pages: Range) {
    if pages.bytes > 0 {
        let _ = raw::advise(layout::mirror(pages.start), pages.bytes, libc::MADV_DONTNEED);
    }
}

/// Addresses of the pages of the processor's size in a range.
fn pages_of(range: Range) -> impl Iterator<Item = usize> {
    (range.start..range.start + range.bytes).step_by(BASE)
}

/// The page at an address.
///
/// # Safety
/// It is there, and nobody writes to it as long as this is used.
unsafe fn page_at<'a>(address: usize) -> &'a [u8; BASE] {
    // SAFETY: as the caller promises.
    unsafe { &*(address as *const [u8; BASE]) }
}
