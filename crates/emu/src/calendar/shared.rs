//! The page that a guest and its calendar share (`struct um_timetravel_schedshm`), so that a turn takes one
//! message each way. Each guest has a page of its own: none sees another's.
//!
//! What the kernel and its network card tell each other stands there too, in room that the protocol leaves
//! unused: `packaging/uml.patch` has the kernel's side.

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::io;
use std::os::fd::OwnedFd;
use sys::shared::Shared;

const VERSION: u32 = 2;
/// Bytes of its header, and of a client.
const HEADER: usize = 4096;
const CLIENT: usize = 128;
const LEN: usize = 2 * HEADER;
/// The clients: we ourselves, and the guest.
const OURSELVES: u16 = 0;
/// What the guest is called in the page.
pub const GUEST: u16 = 1;

/// Places in the header and in a client.
mod at {
    pub const VERSION: usize = 0;
    pub const LEN: usize = 4;
    pub const FREE_UNTIL: usize = 8;
    pub const CURRENT_TIME: usize = 16;
    pub const RUNNING: usize = 24;
    pub const CLIENTS: usize = 26;
    pub const CAPABILITIES: usize = 0;
    pub const FLAGS: usize = 4;
    pub const REQUEST: usize = 8;
    /// Of the calendar: whether what the guest sends may wait until the guest does.
    pub const SENDS_LATER: usize = 64;
    /// Of the guest: the queues that the card calls for, and those which the guest has filled; a bit each.
    pub const CALLED: usize = 64;
    pub const FILLED: usize = 68;
}

/// `UM_TIMETRAVEL_SCHEDSHM_CAP_TIME_SHARE`, `UM_TIMETRAVEL_SCHEDSHM_FLAGS_REQ_RUN`.
const SHARES: u32 = 1;
const WANTS_TO_RUN: u32 = 1;

/// A guest's page.
#[derive(Debug)]
pub struct Page {
    file: OwnedFd,
    page: Shared,
}

impl Page {
    /// A page for a guest that begins at `now`, in nanoseconds.
    ///
    /// # Errors
    /// As memfd_create(2).
    pub fn new(now: u64) -> io::Result<Page> {
        let file = memfd_create("time", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, LEN as u64)?;
        let page = Page { page: Shared::map(&file, 0, LEN)?, file };
        page.set_u32(at::VERSION, VERSION);
        page.set_u32(at::LEN, LEN as u32);
        page.page.store_u16(at::CLIENTS, 2).expect("within the page");
        page.set_u32(client(OURSELVES) + at::CAPABILITIES, SHARES);
        page.run(now, now);
        Ok(page)
    }

    /// The file behind it.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// The guest runs at `now`, and may move its clock on by itself as long as it is before `free_until`.
    pub fn run(&self, now: u64, free_until: u64) {
        self.set_u64(at::CURRENT_TIME, now);
        self.set_u64(at::FREE_UNTIL, free_until);
        self.page.store_u16(at::RUNNING, GUEST).expect("within the page");
    }

    /// From now on the running guest may move its clock on as long as it is before `free_until`.
    pub fn limit(&self, free_until: u64) {
        self.set_u64(at::FREE_UNTIL, free_until);
    }

    /// Whether the guest says that it has something to send when it waits, instead of at once.
    pub fn let_send_later(&self, later: bool) {
        self.set_u32(client(OURSELVES) + at::SENDS_LATER, later.into());
    }

    /// Calls the guest for a queue, when it runs next.
    pub fn call(&self, queue: u32) {
        let called = self.u32(client(GUEST) + at::CALLED);
        self.set_u32(client(GUEST) + at::CALLED, called | 1 << queue);
    }

    /// Whether the guest, which waits, has filled a queue since the last call.
    pub fn take_filled(&self, queue: u32) -> bool {
        let filled = self.u32(client(GUEST) + at::FILLED);
        self.set_u32(client(GUEST) + at::FILLED, 0);
        filled & 1 << queue != 0
    }

    /// The guest's clock.
    pub fn now(&self) -> u64 {
        self.page.load_u64(at::CURRENT_TIME).expect("within the page")
    }

    /// When the guest wants to run next.
    pub fn request(&self) -> Option<u64> {
        let flags = self.u32(client(GUEST) + at::FLAGS);
        let time = self.page.load_u64(client(GUEST) + at::REQUEST).expect("within the page");
        (flags & WANTS_TO_RUN != 0).then_some(time)
    }

    fn u32(&self, at: usize) -> u32 {
        self.page.load_u32(at).expect("within the page")
    }

    fn set_u32(&self, at: usize, value: u32) {
        self.page.store_u32(at, value).expect("within the page");
    }

    fn set_u64(&self, at: usize, value: u64) {
        self.page.store_u64(at, value).expect("within the page");
    }
}

fn client(id: u16) -> usize {
    HEADER + CLIENT * usize::from(id)
}
