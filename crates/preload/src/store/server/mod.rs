//! Remote memory in a memory server ([`farmem::wire`]): pages that leave are sent there, and read back when they are touched.
//!
//! A fault asks for its page at once; what has to leave for it leaves while the answer is on its way. Pages that leave wait in the mirror
//! until several of them, or the next fault, go to the server: nobody waits for an acknowledgement, because a connection's
//! messages are handled in order. Whatever goes wrong with the connection ends the program: what it had is not known to be there.
//!
//! **A page that nobody was seen to write to is still checked**: threads can write to it between that look and its leaving. What it was when it came is
//! known by a hash of 64 bits (XXH3); one that is the same is not sent.

mod inbox;
mod link;

use super::{Found, Store};
use crate::layout::{self, BASE, BASE_BITS, BYTES};
use crate::raw;
use crate::stats::stats;
use farmem::wire::client::{Client, Coming};
use farmem::wire::{HEAD, Key, TICKET, Ticket};
use inbox::Inbox;
use link::{Link, Waiting};
use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use sys::cpu::monotonic_ns;
use sys::userfaultfd::Range;
use twox_hash::XxHash3_64;

/// Where a server is, and how it is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub(crate) at: SocketAddr,
    pub(crate) key: Key,
    /// How long it may take to answer.
    pub(crate) timeout_ms: u64,
    /// Bytes of pages that may wait to be sent: a part of local memory.
    pub(crate) leaving_bytes: usize,
}

/// The memory of this process in a server.
pub(crate) struct Server {
    remote: Remote,
    link: Option<Link>,
    client: Client,
    ticket: Ticket,
    inbox: Inbox,
    /// Requests that are not yet sent.
    heads: Vec<[u8; HEAD]>,
    /// Pages in the mirror that are not yet sent.
    leaving: Vec<Range>,
    /// Pages that the program gave up, and the server doesn't know it.
    given_up: Vec<(u64, u32)>,
    /// Pages that came last: their hashes are not yet known.
    came: Vec<(Range, usize)>,
    sums: usize,
}

fn number(address: usize) -> u64 {
    ((address - layout::start()) >> BASE_BITS) as u64
}

fn count(run: Range) -> u32 {
    (run.bytes >> BASE_BITS) as u32
}

fn overlap(a: Range, b: Range) -> bool {
    a.start < b.start + b.bytes && b.start < a.start + a.bytes
}

/// Part of a range from one address to another, if there is any.
fn part(range: Range, from: usize, to: usize) -> Option<Range> {
    let (from, to) = (from.max(range.start), to.min(range.start + range.bytes));
    (from < to).then(|| Range { start: from, bytes: to - from })
}

impl Server {
    pub(crate) fn new(remote: Remote) -> Server {
        let sums = raw::reserve(BYTES >> BASE_BITS << 3);
        Server {
            remote,
            link: None,
            client: Client::default(),
            ticket: Ticket::NEW,
            inbox: Inbox::default(),
            heads: Vec::new(),
            leaving: Vec::new(),
            given_up: Vec::new(),
            came: Vec::new(),
            sums: sums.unwrap_or_else(|_| raw::die("no room for addresses: ulimit -v unlimited")),
        }
    }

    fn link(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| raw::die("the memory server is not connected"))
    }

    /// The hash of each page when it came from the server, or was sent there; 0 for those that neither happened to.
    fn sum(&self, page: u64) -> &AtomicU64 {
        // SAFETY: so many were reserved, and are zero until they are written.
        unsafe { &*((self.sums as *const AtomicU64).add(page as usize)) }
    }

    fn note_sums(&mut self) {
        for (run, content) in self.came.drain(..).collect::<Vec<_>>() {
            for at in (0..run.bytes).step_by(BASE) {
                self.sum(number(run.start + at)).store(hash(content + at), Relaxed);
            }
        }
    }

    /// All that waits is sent: what was given up, pages that have left, requests.
    fn flush(&mut self) {
        if self.heads.is_empty() && self.leaving.is_empty() {
            return;
        }
        let frees = self.given_up.iter().map(|(page, count)| self.client.free(*page, *count));
        let mut heads: Vec<[u8; HEAD]> = frees.collect();
        let freed = heads.len();
        heads.extend(self.leaving.iter().map(|run| self.client.write(number(run.start), count(*run))));
        let mut pieces: Vec<IoSlice<'_>> = heads[..freed].iter().map(|head| IoSlice::new(head)).collect();
        for (head, run) in heads[freed..].iter().zip(&self.leaving) {
            pieces.push(IoSlice::new(head));
            // SAFETY: the page is in the mirror, where nobody writes, until it is dropped below.
            let page =
                unsafe { std::slice::from_raw_parts(layout::mirror(run.start) as *const u8, run.bytes) };
            pieces.push(IoSlice::new(page));
        }
        pieces.extend(self.heads.iter().map(|head| IoSlice::new(head)));
        let mut pieces = pieces.as_mut_slice();
        let link = self.link.as_ref().unwrap_or_else(|| raw::die("the memory server is not connected"));
        let mut waiting = Waiting::begin();
        while !pieces.is_empty() {
            let sent = link.send(pieces);
            IoSlice::advance_slices(&mut pieces, sent);
            // Who only sends, and takes nothing, may wait for somebody who does the same.
            let came = if sent == 0 { self.inbox.receive(link) } else { 0 };
            link.wait(&mut waiting, sent + came > 0, true);
        }
        for run in self.leaving.drain(..) {
            let _ = raw::advise(layout::mirror(run.start), run.bytes, libc::MADV_DONTNEED);
        }
        self.heads.clear();
        self.given_up.clear();
        if self.inbox.is_idle() {
            link.expect_nothing();
        }
    }

    /// The answer that comes next, behind its head; its bytes are in the inbox.
    fn answer(&mut self, bytes: usize) -> Coming {
        let mut waiting = Waiting::begin();
        while self.inbox.has() < HEAD {
            self.progress(&mut waiting);
        }
        let head = self.inbox.head();
        let coming = self.client.handle(&head).unwrap_or_else(|wrong| self.link().over(&wrong.to_string()));
        if let Coming::Refused(text) = coming {
            self.link().refused(self.inbox.rest(), text as usize);
        }
        while self.inbox.has() < HEAD + bytes {
            self.progress(&mut waiting);
        }
        coming
    }

    fn progress(&mut self, waiting: &mut Waiting) {
        let Some(link) = self.link.as_mut() else { raw::die("the memory server is not connected") };
        let came = self.inbox.receive(link);
        link.wait(waiting, came > 0, false);
    }
}

impl Store for Server {
    fn ask(&mut self, pages: Range) {
        let head = self.client.read(number(pages.start), count(pages));
        let written = self.leaving.iter().any(|run| overlap(*run, pages));
        if self.inbox.is_idle() && !written {
            // What else there is to do is done while the answer is on its way.
            self.link().send_all(&head);
        } else {
            self.heads.push(head);
        }
        self.note_sums();
        self.inbox.expect(HEAD + pages.bytes);
        if written {
            self.flush();
        }
    }

    fn fresh(&mut self, pages: Range) {
        for start in (pages.start..pages.start + pages.bytes).step_by(BASE) {
            self.sum(number(start)).store(0, Relaxed);
        }
    }

    fn keep(&mut self, pages: Range, dirty: bool) {
        self.note_sums();
        for start in (pages.start..pages.start + pages.bytes).step_by(BASE) {
            let page = Range { start, bytes: BASE };
            let sum = self.sum(number(start));
            if !dirty && sum.load(Relaxed) == hash(layout::mirror(start)) {
                let _ = raw::advise(layout::mirror(start), BASE, libc::MADV_DONTNEED);
                continue;
            }
            match self.leaving.last_mut() {
                Some(last) if last.start + last.bytes == start && count(*last) < farmem::wire::PAGES_MAX => {
                    last.bytes += BASE;
                }
                _ => self.leaving.push(page),
            }
        }
        if self.leaving.iter().map(|run| run.bytes).sum::<usize>() >= self.remote.leaving_bytes {
            self.flush();
        }
    }

    fn find(&mut self, pages: Range) -> Found {
        if self.client.next() != Some((number(pages.start), count(pages))) {
            self.ask(pages);
        }
        self.flush();
        let since = monotonic_ns();
        self.answer(pages.bytes);
        let content = self.inbox.take(HEAD + pages.bytes) + HEAD;
        self.came.push((pages, content));
        stats().server_ns.add(monotonic_ns() - since);
        Found::At(content)
    }

    fn forget(&mut self, pages: Range) {
        let end = pages.start + pages.bytes;
        let left = std::mem::take(&mut self.leaving);
        for run in left {
            self.leaving.extend(part(run, 0, pages.start));
            self.leaving.extend(part(run, end, usize::MAX));
        }
        let _ = raw::advise(layout::mirror(pages.start), pages.bytes, libc::MADV_DONTNEED);
        for start in (pages.start..end).step_by(1 << 40) {
            let bytes = (end - start).min(1 << 40);
            self.given_up.push((number(start), count(Range { start, bytes })));
        }
    }

    fn begin(&mut self) {
        self.link = Some(Link::open(&self.remote, self.ticket));
    }

    fn share(&mut self) {
        self.note_sums();
        self.heads.push(self.client.share());
        self.inbox.expect(HEAD + TICKET);
        self.flush();
        self.answer(TICKET);
        let at = self.inbox.take(HEAD + TICKET) + HEAD;
        // SAFETY: so many bytes have come there.
        self.ticket = Ticket(unsafe { *(at as *const [u8; TICKET]) });
    }

    fn forked(&mut self) {
        // Its descriptor is not this process's.
        std::mem::forget(self.link.take());
    }
}

fn hash(address: usize) -> u64 {
    // SAFETY: a page that is there, and that nobody writes to.
    let page = unsafe { std::slice::from_raw_parts(address as *const u8, BASE) };
    // 0 is for pages that have none.
    XxHash3_64::oneshot(page).max(1)
}
