//! A program on remote memory: its threads compute, fault, wait, and continue.
//!
//! Threads share local memory, the streams to the memory node and what leaves on them. Their waits overlap.
//! A thread that touches a page which is on its way for another one waits for that page.

mod phases;
mod thread;

use super::accesses::ThreadAccesses;
use super::board::{Board, Outcome, Totals};
use super::link::Link;
use super::outgoing::Outgoing;
use super::settings::Settings;
use super::wire::Message;
use crate::local::Local;
use process::{Addr, Context, Event, Process, StreamId, TaskId};
use std::collections::VecDeque;
use std::sync::Arc;
use thread::{Phase, Thread};

/// Token of the compression of what leaves; other computations have the number of their thread.
const PACK: u64 = u64::MAX;
/// Token of the timer at which what left is sent.
const RELEASE: u64 = 0;

/// Where a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Streams are opened.
    Connect,
    /// Its threads are at work, or what left is still to be kept.
    Run,
    /// Nothing comes any more.
    Over,
}

/// A program.
#[derive(Debug)]
pub struct Program {
    number: u64,
    settings: Arc<Settings>,
    /// Its threads' accesses, as they are at the start.
    first: Vec<ThreadAccesses>,
    memory: Addr,
    board: Board,
    pages: Arc<[u64]>,
    local: Local<Arc<[u64]>>,
    state: State,
    threads: Vec<Thread>,
    /// One for all, or one for fetches and one for write-backs.
    links: Vec<Link>,
    /// Of these, not yet open.
    unopened: usize,
    task: Option<TaskId>,
    /// Requests on their way: whose, and for how many pages.
    fetching: VecDeque<(usize, u32)>,
    outgoing: Outgoing,
    packing: bool,
    totals: Totals,
}

impl Program {
    /// Program `number` of a job, whose pages are at `memory`, with the accesses of each of its threads.
    ///
    /// # Panics
    /// When it has no thread.
    pub fn new(
        number: u64,
        settings: Arc<Settings>,
        threads: Vec<ThreadAccesses>,
        memory: Addr,
        board: Board,
    ) -> Program {
        let (pages, stored) = threads[0].pages();
        Program {
            number,
            local: Local::new(Arc::clone(&pages), stored, &settings.local),
            settings,
            threads: threads.iter().cloned().map(Thread::new).collect(),
            first: threads,
            memory,
            board,
            pages,
            state: State::Connect,
            links: Vec::new(),
            unopened: 0,
            task: None,
            fetching: VecDeque::new(),
            outgoing: Outgoing::default(),
            packing: false,
            totals: Totals::default(),
        }
    }

    /// Everything begins again: after a crash of the host nothing is left of before.
    fn start(&mut self, cx: &mut dyn Context) {
        if self.task.is_some() {
            let (settings, threads, board) =
                (Arc::clone(&self.settings), self.first.clone(), self.board.clone());
            let fresh = Program::new(self.number, settings, threads, self.memory, board);
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
                Ok(None) if link.ended() && self.state != State::Over => return self.lost(cx),
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
        match *message {
            // Whatever its schedule, a memory node answers the first request for so many pages first.
            Message::Pages { pages, .. } => {
                let at = self.fetching.iter().position(|(_, asked)| *asked == pages);
                let Some((thread, _)) = at.and_then(|at| self.fetching.remove(at)) else { return false };
                self.threads[thread].phase = Phase::Fetch;
                true
            }
            Message::Kept { pages } => self.outgoing.kept(pages),
            Message::Fetch { .. } | Message::Keep { .. } => false,
        }
    }

    /// The memory node is gone, and so is what it held.
    fn lost(&mut self, cx: &mut dyn Context) {
        if self.totals.outcome == Outcome::Unfinished {
            self.totals.outcome = Outcome::Lost;
            self.end_task(cx);
        }
        self.state = State::Over;
        self.links.drain(..).for_each(|link| cx.abort(link.stream));
        cx.finish();
    }

    fn closed(&mut self, stream: StreamId, cx: &mut dyn Context) {
        self.links.retain(|link| link.stream != stream);
        if self.state != State::Over {
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
            Event::Opened { .. } if self.state == State::Connect => {
                self.unopened -= 1;
                if self.unopened == 0 {
                    self.totals.begin = Some(cx.now());
                    self.state = State::Run;
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
            Event::Computed { token: PACK } if self.state != State::Over => {
                self.packing = false;
                self.outgoing.pack();
                self.pack(cx);
                self.release(cx);
                self.go(cx);
            }
            Event::Timer { token: RELEASE } if self.state != State::Over => self.release(cx),
            Event::Computed { token } if token != PACK => {
                self.threads[token as usize].computing = false;
                self.go(cx);
            }
            _ => {}
        }
        self.board.show(self.totals);
    }
}
