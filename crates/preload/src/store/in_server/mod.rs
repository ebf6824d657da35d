//! Remote memory in a memory server ([`farmem::wire`]): pages that leave are sent there, and read back when
//! they are touched.
//!
//! A fault asks for its page at once; what has to leave for it leaves while the answer is on its way. Pages
//! that leave wait in the mirror until several of them, or the next fault, go to the server: nobody waits for
//! an acknowledgement, because a connection's messages are handled in order. Whatever goes wrong with the
//! connection ends the program: what it had is not known to be there.
//!
//! With a codec they are packed when they leave, and travel and are kept like that.
//!
//! **A page that nobody was seen to write to is still checked**: threads can write to it between that look
//! and its leaving. What it was when it came is known by a hash of 64 bits (XXH3); one that is the same is
//! not sent.

mod inbox;
mod leaving;
mod link;

use super::packing::Packing;
use super::table::Table;
use super::{Found, Store, empty_mirror, page_at, pages_of};
use crate::config::MemoryServer;
use crate::layout::{self, BASE, BASE_BITS};
use crate::raw;
use crate::states::{self, THERE};
use crate::stats::stats;
use farmem::codec::Codec;
use farmem::wire::client::{Client, Coming, Wrong};
use farmem::wire::{HEAD, LENGTH, Lengths, PAGE, TICKET, Ticket};
use inbox::Inbox;
use leaving::Leaving;
use link::{Link, Waiting};
use std::io::IoSlice;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use sys::cpu::monotonic_ns;
use sys::userfaultfd::Range;
use twox_hash::XxHash3_64;

/// Compression on the way to a server.
struct Smaller {
    packing: Packing,
    /// Bytes that it saves of each page that left.
    saved: Table<AtomicU16>,
    /// Pages that came packed, as they were.
    coming: Vec<[u8; PAGE]>,
}

/// The memory of this process in a server.
pub(crate) struct InServer {
    server: MemoryServer,
    smaller: Option<Smaller>,
    link: Option<Link>,
    client: Client,
    ticket: Ticket,
    inbox: Inbox,
    /// Requests that are not yet sent.
    heads: Vec<u8>,
    leaving: Leaving,
    /// Pages that the program gave up, and the server doesn't know it.
    given_up: Vec<(u64, u32)>,
    /// Pages that came last: their hashes are not yet known.
    came: Vec<(Range, usize)>,
    /// Since when nothing has come that was asked for.
    silence: Waiting,
    /// The hash of each page when it came from the server; 0 for those that never did.
    sums: Table<AtomicU64>,
}

fn number(address: usize) -> u64 {
    ((address - layout::start()) >> BASE_BITS) as u64
}

fn count(run: Range) -> u32 {
    (run.bytes >> BASE_BITS) as u32
}

impl InServer {
    pub(crate) fn new(server: MemoryServer, codec: Option<Codec>, page_bytes: usize) -> InServer {
        let smaller = codec.map(|codec| Smaller {
            packing: Packing::new(codec),
            saved: Table::new(),
            coming: vec![[0; PAGE]; page_bytes / PAGE],
        });
        InServer {
            server,
            smaller,
            link: None,
            client: Client::default(),
            ticket: Ticket::NEW,
            inbox: Inbox::default(),
            heads: Vec::new(),
            leaving: Leaving::default(),
            given_up: Vec::new(),
            came: Vec::new(),
            silence: Waiting::begin(),
            sums: Table::new(),
        }
    }

    fn link(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| raw::die("the memory server is not connected"))
    }

    fn over(&self, wrong: Wrong) -> ! {
        self.link().over(&wrong.to_string())
    }

    fn note_sums(&mut self) {
        for (run, content) in self.came.drain(..) {
            for (at, content) in pages_of(run).zip((content..).step_by(BASE)) {
                self.sums.of(at).store(hash(content), Relaxed);
            }
        }
    }

    /// All that waits is sent: what was given up, pages that have left, requests.
    fn flush(&mut self) {
        if self.heads.is_empty() && self.leaving.is_empty() {
            return;
        }
        let mut announced: Vec<u8> =
            self.given_up.iter().flat_map(|(page, count)| self.client.free(*page, *count)).collect();
        let freed = announced.len();
        self.leaving.announce(&self.client, &mut announced);
        let mut pieces = vec![IoSlice::new(&announced[..freed])];
        self.leaving.slices(&announced[freed..], &mut pieces);
        pieces.push(IoSlice::new(&self.heads));
        let mut pieces = pieces.as_mut_slice();
        let link = self.link.as_ref().unwrap_or_else(|| raw::die("the memory server is not connected"));
        let mut waiting = Waiting::begin();
        // Without pieces that are empty.
        IoSlice::advance_slices(&mut pieces, 0);
        while !pieces.is_empty() {
            let sent = link.send(pieces);
            IoSlice::advance_slices(&mut pieces, sent);
            // An end that only sends, and takes nothing, may wait for another that does the same.
            let came = if sent == 0 { self.inbox.receive(link) } else { 0 };
            link.wait(&mut waiting, sent + came > 0, true);
        }
        self.leaving.sent();
        self.heads.clear();
        self.given_up.clear();
        if self.inbox.is_idle() {
            link.expect_nothing();
        }
    }

    /// The head of the answer that comes next; it is in the inbox.
    fn answer(&mut self) -> Coming {
        self.await_bytes(HEAD);
        let head = self.inbox.head();
        let coming = self.client.handle(&head).unwrap_or_else(|wrong| self.over(wrong));
        if let Coming::Refused(text) = coming {
            self.link().refused(self.inbox.rest(), text as usize);
        }
        coming
    }

    /// So many bytes have come.
    fn await_bytes(&mut self, bytes: usize) {
        let mut waiting = Waiting::begin();
        while self.inbox.has() < bytes {
            self.progress(&mut waiting);
        }
    }

    fn progress(&mut self, waiting: &mut Waiting) {
        let Some(link) = self.link.as_mut() else { raw::die("the memory server is not connected") };
        let came = self.inbox.receive(link);
        link.wait(waiting, came > 0, false);
    }
}

impl Store for InServer {
    fn ask(&mut self, pages: Range) {
        if self.inbox.is_idle() {
            self.silence = Waiting::begin();
        }
        let head = self.client.read(number(pages.start), count(pages));
        let written = self.leaving.holds(pages);
        if self.inbox.is_idle() && !written {
            // What else there is to do is done while the answer is on its way.
            self.link().send_all(&head);
        } else {
            self.heads.extend(head);
        }
        self.note_sums();
        self.inbox.expect(HEAD + LENGTH * count(pages) as usize + pages.bytes);
        if written {
            self.flush();
        }
    }

    fn send(&mut self) {
        if !self.heads.is_empty() {
            self.flush();
        }
    }

    fn has_answer(&mut self) -> bool {
        let Some(link) = self.link.as_ref() else { return true };
        let came = self.inbox.receive(link) > 0;
        let Some((_, count)) = self.client.next() else { return true };
        let (has, told) = (self.inbox.has(), LENGTH * count as usize);
        if has >= HEAD && Client::is_refused(&self.inbox.head()) {
            return true;
        }
        let all = (has >= HEAD + told).then(|| Lengths::read(&self.inbox.rest()[..told]));
        let ready = all.is_some_and(|lengths| lengths.is_none_or(|all| has >= HEAD + told + all.total()));
        if ready || came {
            self.silence = Waiting::begin();
        } else {
            link.patience(&self.silence);
        }
        ready
    }

    fn socket(&self) -> Option<i32> {
        self.link.as_ref().map(Link::socket)
    }

    fn fresh(&mut self, pages: Range) {
        pages_of(pages).for_each(|at| self.sums.of(at).store(0, Relaxed));
    }

    fn keep(&mut self, pages: Range, dirty: bool) {
        self.note_sums();
        let mut done = Range { bytes: 0, ..pages };
        for at in pages_of(pages) {
            let mirror = layout::mirror(at);
            if dirty || self.sums.of(at).load(Relaxed) != hash(mirror) {
                let Some(smaller) = &mut self.smaller else {
                    self.leaving.put(at);
                    empty_mirror(done);
                    done = Range { start: at + BASE, bytes: 0 };
                    continue;
                };
                // SAFETY: it has left and is in the mirror, where nobody writes, until it is dropped below.
                let packed = smaller.packing.pack(unsafe { page_at(mirror) });
                smaller.saved.of(at).store((BASE - packed.len()) as u16, Relaxed);
                self.leaving.put_packed(at, packed, &self.client);
            }
            done.bytes += BASE;
        }
        empty_mirror(done);
        if self.leaving.bytes() >= self.server.leaving_bytes {
            self.flush();
        }
    }

    fn find(&mut self, pages: Range) -> Found {
        if self.client.next() != Some((number(pages.start), count(pages))) {
            self.ask(pages);
        }
        self.flush();
        let since = monotonic_ns();
        self.answer();
        let told = LENGTH * count(pages) as usize;
        self.await_bytes(HEAD + told);
        let total = Lengths::read(&self.inbox.rest()[..told]).map_or(0, Lengths::total);
        if total == 0 || !self.inbox.expect_less(pages.bytes - total) {
            self.over(Wrong::Order);
        }
        self.await_bytes(HEAD + told + total);
        stats().server_ns.add(monotonic_ns() - since);
        let content = self.take(pages, told, total).unwrap_or_else(|| self.over(Wrong::Order));
        self.came.push((pages, content));
        Found::At(content)
    }

    fn saved(&self, pages: Range) -> u64 {
        let Some(smaller) = &self.smaller else { return 0 };
        pages_of(pages).map(|at| u64::from(smaller.saved.of(at).load(Relaxed))).sum()
    }

    fn forget(&mut self, pages: Range) {
        if !states::any(pages, THERE) {
            return;
        }
        self.leaving.forget(pages);
        empty_mirror(pages);
        let end = pages.start + pages.bytes;
        for start in (pages.start..end).step_by(1 << 40) {
            let bytes = (end - start).min(1 << 40);
            self.given_up.push((number(start), count(Range { start, bytes })));
        }
    }

    fn begin(&mut self) {
        self.link = Some(Link::open(&self.server, self.ticket));
    }

    fn share(&mut self) {
        self.note_sums();
        self.heads.extend(self.client.share());
        self.inbox.expect(HEAD + TICKET);
        self.flush();
        self.answer();
        self.await_bytes(HEAD + TICKET);
        self.ticket = Ticket(*self.inbox.take(HEAD + TICKET).last_chunk().unwrap_or(&[0; TICKET]));
    }

    fn forked(&mut self) {
        // Its descriptor is not this process's.
        std::mem::forget(self.link.take());
    }
}

impl InServer {
    /// Takes pages that have come whole, behind their lengths: the address of what they hold. Nothing where
    /// it is none.
    fn take(&mut self, pages: Range, told: usize, total: usize) -> Option<usize> {
        if total < pages.bytes {
            // What came before is still to be known where it is.
            self.note_sums();
        }
        let (lengths, mut rest) = self.inbox.take(HEAD + told + total)[HEAD..].split_at(told);
        if total == pages.bytes {
            return Some(rest.as_ptr() as usize);
        }
        let smaller = self.smaller.as_mut()?;
        for (length, page) in Lengths::read(lengths)?.iter().zip(&mut smaller.coming) {
            let (packed, behind) = rest.split_at(length);
            rest = behind;
            smaller.packing.unpack(packed, page).ok()?;
        }
        Some(smaller.coming.as_ptr() as usize)
    }
}

fn hash(address: usize) -> u64 {
    // SAFETY: a page that is there, and that nobody writes to.
    let page = unsafe { page_at(address) };
    // 0 is for pages that have none.
    XxHash3_64::oneshot(page).max(1)
}
