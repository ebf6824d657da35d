//! A program with one thread on remote memory: it computes, faults, waits, and continues.

mod phases;

use super::board::{Board, Outcome, Totals};
use super::link::Link;
use super::outgoing::Outgoing;
use super::settings::Settings;
use super::source::Source;
use super::wire::Message;
use crate::local::Local;
use phases::Phase;
use process::{Addr, Context, Event, Process, StreamId, TaskId};
use std::sync::Arc;
use units::Time;

/// Tokens of computations: the program's own, and the compression of what leaves beside it.
const OWN: u64 = 0;
const PACK: u64 = 1;
/// Token of the timer at which what left is sent.
const RELEASE: u64 = 0;

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
