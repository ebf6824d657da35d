//! The page that a guest and its calendar share (`struct um_timetravel_schedshm`), so that a turn takes one
//! message each way. Each guest has a page of its own: none sees another's.

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
        self.set_now(now, free_until, GUEST);
    }

    /// From now on the running guest may move its clock on as long as it is before `free_until`.
    pub fn limit(&self, free_until: u64) {
        self.set_u64(at::FREE_UNTIL, free_until);
    }

    /// We run, as whoever interrupts the guest at `now`.
    pub fn interrupt(&self, now: u64) {
        self.set_now(now, u64::MAX, OURSELVES);
    }

    fn set_now(&self, now: u64, free_until: u64, running: u16) {
        self.set_u64(at::CURRENT_TIME, now);
        self.set_u64(at::FREE_UNTIL, free_until);
        self.page.store_u16(at::RUNNING, running).expect("within the page");
    }

    /// The guest's clock.
    pub fn now(&self) -> u64 {
        self.page.load_u64(at::CURRENT_TIME).expect("within the page")
    }

    /// When the guest wants to run next.
    pub fn request(&self) -> Option<u64> {
        let flags = self.page.load_u32(client(GUEST) + at::FLAGS).expect("within the page");
        let time = self.page.load_u64(client(GUEST) + at::REQUEST).expect("within the page");
        (flags & WANTS_TO_RUN != 0).then_some(time)
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
