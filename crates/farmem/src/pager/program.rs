//! A program with one thread on remote memory: it computes, faults, waits, and goes on.

use super::board::{Board, Fault, Outcome, Totals};
use super::link::Link;
use super::outgoing::Outgoing;
use super::settings::{Settings, WriteBack};
use super::source::Source;
use super::wire::Message;
use crate::local::{Local, Met};
use crate::steps::Step;
use process::{Addr, Context, Event, Process, StreamId, TaskId};
use std::sync::Arc;
use units::Time;

/// Steps without a fault that are gone through at once.
const BURST: u32 = 1 << 16;
/// Tokens of computations: the program's own, and the compression of what leaves beside it.
const OWN: u64 = 0;
const PACK: u64 = 1;
/// Token of the timer at which what left is sent.
const RELEASE: u64 = 0;

/// What comes next, as soon as what is awaited has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Streams are opened.
    Connect,
    /// Steps, up to the next fault.
    Run,
    /// The computation before an access is done.
    Touch,
    /// The fault is handled: pages leave.
    Handled,
    /// The fault waits until what left is kept.
    Send,
    /// The fault waits for room for what left, or for its own page, which is on its way back.
    Room,
    /// The next request for pages.
    Fetch,
    /// Pages are under way.
    Fetching,
    /// All pages are there.
    Resume,
    /// The program is done; what left is still to be kept.
    Done,
    /// Nothing comes any more.
    Over,
}

/// A fault that is dealt with.
#[derive(Clone, Copy, Debug)]
struct Touched {
    page: u32,
    /// Pages to fetch, and how many of them have been asked for.
    fetch: u32,
    asked: u32,
    written_back: u32,
    start: Time,
}

/// A program.
#[derive(Debug)]
pub struct Program {
    number: u64,
    settings: Arc<Settings>,
    /// As it is at the start.
    first: Source,
    memory: Addr,
    board: Board,
    source: Source,
    pages: Arc<[u64]>,
    local: Local<Arc<[u64]>>,
    phase: Phase,
    /// One for all, or one for fetches and one for write-backs.
    links: Vec<Link>,
    /// Of these, not yet open.
    unopened: usize,
    /// The core is at work for the next phase.
    computing: bool,
    task: Option<TaskId>,
    touched: Option<Touched>,
    /// Ranks of pages that leave for it.
    back: Vec<u32>,
    outgoing: Outgoing,
    packing: bool,
    totals: Totals,
}

impl Program {
    /// Program `number` of a job, whose pages are at `memory`.
    pub fn new(number: u64, settings: Arc<Settings>, source: Source, memory: Addr, board: Board) -> Program {
        let (pages, stored) = source.pages();
        Program {
            number,
            local: Local::new(Arc::clone(&pages), stored, &settings.local),
            settings,
            first: source.clone(),
            memory,
            board,
            source,
            pages,
            phase: Phase::Connect,
            links: Vec::new(),
            unopened: 0,
            computing: false,
            task: None,
            touched: None,
            back: Vec::new(),
            outgoing: Outgoing::default(),
            packing: false,
            totals: Totals::default(),
        }
    }

    /// Everything begins anew: after a crash of the host nothing is left of before.
    fn start(&mut self, cx: &mut dyn Context) {
        if self.task.is_some() {
            let (settings, source, board) =
                (Arc::clone(&self.settings), self.first.clone(), self.board.clone());
            let fresh = Program::new(self.number, settings, source, self.memory, board);
            let totals = Totals { restarts: self.totals.restarts + 1, ..Totals::default() };
            *self = Program { totals, ..fresh };
        }
        let task = cx.begin_task("program", self.number);
        self.task = Some(task);
        let streams = if self.settings.schedule.apart() { 2 } else { 1 };
        self.links = (0..streams).map(|_| Link::new(cx.open(self.memory, task.0))).collect();
        self.unopened = streams;
    }

    /// Goes on as far as it can without waiting.
    fn go(&mut self, cx: &mut dyn Context) {
        while !self.computing
            && match self.phase {
                Phase::Run => self.run(cx),
                Phase::Touch => self.touch(cx),
                Phase::Handled => self.handled(),
                Phase::Send => self.send(cx),
                Phase::Room => self.room(cx),
                Phase::Fetch => self.fetch(cx),
                Phase::Resume => self.resume(cx),
                Phase::Done => self.done(cx),
                Phase::Connect | Phase::Fetching | Phase::Over => false,
            }
        {}
    }

    /// The next phase comes after so much time on the core.
    fn after(&mut self, time: Time, next: Phase, cx: &mut dyn Context) -> bool {
        self.phase = next;
        self.computing = time > Time::ZERO;
        if self.computing {
            cx.compute(OWN, time);
        }
        true
    }

    fn run(&mut self, cx: &mut dyn Context) -> bool {
        let mut computed = Time::ZERO;
        for _ in 0..BURST {
            let Some(step) = self.source.next(&mut computed) else {
                return self.after(computed, Phase::Done, cx);
            };
            let (Step::Read(page) | Step::Write(page)) = step else {
                self.local.step(step, &mut self.back);
                continue;
            };
            let met = self.local.step(step, &mut self.back).expect("it is an access");
            self.totals.counts.add(met, self.back.len(), self.settings.local.pages_a_request);
            let fetch = match met {
                Met::Hit => continue,
                Met::Cold => 0,
                Met::Fault { ahead } => ahead + 1,
            };
            let written_back = self.back.len() as u32;
            self.touched = Some(Touched { page, fetch, asked: 0, written_back, start: Time::ZERO });
            return self.after(computed, Phase::Touch, cx);
        }
        self.after(computed, Phase::Run, cx)
    }

    fn touch(&mut self, cx: &mut dyn Context) -> bool {
        let costs = &self.settings.costs;
        let packing = match self.settings.write_back {
            WriteBack::Before => costs.compress.saturating_mul(self.back.len() as u64),
            WriteBack::After { .. } => Time::ZERO,
        };
        let takes = costs.handler.saturating_add(packing);
        if let Some(touched) = &mut self.touched {
            touched.start = cx.now();
        }
        self.after(takes, Phase::Handled, cx)
    }

    fn handled(&mut self) -> bool {
        self.outgoing.push(&self.back, self.settings.local.pages_a_request);
        self.back.clear();
        self.phase = match self.settings.write_back {
            WriteBack::Before => Phase::Send,
            WriteBack::After { .. } => Phase::Room,
        };
        true
    }

    /// A request after the other, as the document's formula has it.
    fn send(&mut self, cx: &mut dyn Context) -> bool {
        if self.outgoing.is_empty() {
            self.phase = Phase::Fetch;
            return true;
        }
        if !self.outgoing.is_asked() {
            self.outgoing.pack();
            self.release(cx);
        }
        false
    }

    fn room(&mut self, cx: &mut dyn Context) -> bool {
        self.pack(cx);
        if self.is_held() {
            self.release(cx);
            // On one stream, what is sent is there before a request that follows.
            if self.is_held() {
                return false;
            }
        }
        self.phase = Phase::Fetch;
        true
    }

    /// Whether the fault has to wait: too much is on its way back, or one of its own pages is and a request could overtake it.
    fn is_held(&self) -> bool {
        let WriteBack::After { most } = self.settings.write_back else { return false };
        let unsent = !self.settings.schedule.apart();
        let coming = self.touched.map_or(0..0, |touched| touched.page..touched.page + touched.fetch);
        self.outgoing.pages() > most || self.outgoing.holds(coming, unsent)
    }

    fn fetch(&mut self, cx: &mut dyn Context) -> bool {
        let Some(touched) = &mut self.touched else { return false };
        let pages = (touched.fetch - touched.asked).min(self.settings.local.pages_a_request);
        if pages == 0 {
            let takes = self.settings.costs.decompress.saturating_mul(touched.fetch.into());
            return self.after(takes, Phase::Resume, cx);
        }
        let page = self.pages[touched.page as usize] + u64::from(touched.asked);
        touched.asked += pages;
        let bytes = self.settings.page.get() as u32;
        self.phase = Phase::Fetching;
        self.totals.sent_bytes += self.links[0].send(&Message::Fetch { page, pages, bytes }, cx);
        // What left follows a moment later: the request leaves in a packet of its own, as it does where each write is sent at once.
        cx.set_timer(RELEASE, Time::ZERO);
        false
    }

    fn resume(&mut self, cx: &mut dyn Context) -> bool {
        if let Some(touched) = self.touched.take() {
            let (start, end) = (touched.start, cx.now());
            self.totals.stall = self.totals.stall.saturating_add(end.saturating_sub(start));
            if touched.fetch + touched.written_back > 0 {
                self.board.fault(Fault {
                    start,
                    end,
                    page: self.pages[touched.page as usize],
                    fetched: touched.fetch,
                    written_back: touched.written_back,
                });
            }
        }
        self.phase = Phase::Run;
        self.release(cx);
        true
    }

    fn done(&mut self, cx: &mut dyn Context) -> bool {
        if self.totals.end.is_none() {
            self.totals.end = Some(cx.now());
            self.totals.outcome = Outcome::Finished;
            self.end_task(cx);
        }
        self.release(cx);
        if self.outgoing.is_empty() {
            self.phase = Phase::Over;
            self.links.iter().for_each(|link| cx.close(link.stream));
        }
        false
    }

    /// Compresses what left, beside the program and one request at a time.
    fn pack(&mut self, cx: &mut dyn Context) {
        while !self.packing
            && let Some(pages) = self.outgoing.unpacked()
        {
            let takes = self.settings.costs.compress.saturating_mul(pages.into());
            if takes == Time::ZERO {
                self.outgoing.pack();
            } else {
                self.packing = true;
                cx.compute(PACK, takes);
            }
        }
    }

    /// Sends what is compressed.
    fn release(&mut self, cx: &mut dyn Context) {
        let bytes = self.settings.page.get() as u32;
        while let Some(pages) = self.outgoing.send() {
            let link = self.links.last_mut().expect("streams were opened");
            self.totals.sent_bytes += link.send(&Message::Keep { pages, bytes }, cx);
        }
    }

    fn end_task(&mut self, cx: &mut dyn Context) {
        if let Some(task) = self.task {
            cx.end_task(task, self.totals.received_bytes);
        }
    }

    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        loop {
            let Some(link) = self.links.iter_mut().find(|link| link.stream == stream) else { return };
            match link.receive(cx) {
                Ok(None) if link.ended() && self.phase != Phase::Over => return self.lost(cx),
                Ok(None) => return,
                Ok(Some(message)) => {
                    self.totals.received_bytes += message.bytes();
                    if !self.answered(&message) {
                        return self.lost(cx);
                    }
                    self.go(cx);
                }
                Err(_) => return self.lost(cx),
            }
        }
    }

    /// What a memory node says. Whether it was asked for that.
    fn answered(&mut self, message: &Message) -> bool {
        match (*message, self.phase) {
            (Message::Pages { .. }, Phase::Fetching) => {
                self.phase = Phase::Fetch;
                true
            }
            (Message::Kept { pages }, _) => self.outgoing.kept(pages),
            _ => false,
        }
    }

    /// The memory node is gone, and so is what it held.
    fn lost(&mut self, cx: &mut dyn Context) {
        if self.totals.outcome == Outcome::Unfinished {
            self.totals.outcome = Outcome::Lost;
            self.end_task(cx);
        }
        self.phase = Phase::Over;
        self.links.drain(..).for_each(|link| cx.abort(link.stream));
        cx.finish();
    }

    fn closed(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.links.retain(|link| link.stream != stream);
        if self.phase != Phase::Over {
            self.lost(cx);
        } else if self.links.is_empty() {
            cx.finish();
        }
    }
}

impl Process for Program {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => self.start(cx),
            Event::Opened { .. } if self.phase == Phase::Connect => {
                self.unopened -= 1;
                if self.unopened == 0 {
                    self.totals.begin = Some(cx.now());
                    self.phase = Phase::Run;
                    self.go(cx);
                }
            }
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(link) = self.links.iter_mut().find(|link| link.stream == stream) {
                    link.flush(cx);
                }
            }
            Event::Closed { stream, .. } => self.closed(stream, cx),
            Event::Computed { token: PACK } if self.phase != Phase::Over => {
                self.packing = false;
                self.outgoing.pack();
                self.pack(cx);
                self.release(cx);
                self.go(cx);
            }
            Event::Timer { token: RELEASE } if self.phase != Phase::Over => self.release(cx),
            Event::Computed { token: OWN } => {
                self.computing = false;
                self.go(cx);
            }
            _ => {}
        }
        self.board.show(self.totals);
    }
}
