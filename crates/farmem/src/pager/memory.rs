//! A memory node: pages that programs fetch and send back, one request served at a time.

use super::link::Link;
use super::settings::Schedule;
use super::wire::Message;
use process::{Context, Event, Process, StreamId};
use std::collections::BTreeMap;
use units::Time;

/// A request that waits.
#[derive(Clone, Copy, Debug)]
struct Request {
    stream: StreamId,
    answer: Message,
}

impl Request {
    /// What it is for a schedule: the least goes first, and of those alike the one that came first.
    fn rank(&self, schedule: Schedule) -> u32 {
        match (schedule, self.answer) {
            (Schedule::Fifo, _) => 0,
            (_, Message::Kept { .. }) => u32::MAX,
            (Schedule::ShortestFirst, Message::Pages { pages, .. }) => pages,
            _ => 0,
        }
    }

    fn pages(&self) -> u32 {
        match self.answer {
            Message::Pages { pages, .. } | Message::Kept { pages } => pages,
            Message::Fetch { .. } | Message::Keep { .. } => 0,
        }
    }
}

/// A memory node.
#[derive(Debug)]
pub struct Memory {
    port: u16,
    schedule: Schedule,
    /// What a page takes.
    serve: Time,
    links: BTreeMap<StreamId, Link>,
    waiting: Vec<Request>,
    /// Served now.
    busy: Option<Request>,
}

impl Memory {
    /// One that listens there.
    pub fn new(port: u16, schedule: Schedule, serve: Time) -> Memory {
        Memory { port, schedule, serve, links: BTreeMap::new(), waiting: Vec::new(), busy: None }
    }

    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(link) = self.links.get_mut(&stream) else { return };
        loop {
            let answer = match link.receive(cx) {
                Ok(Some(Message::Fetch { pages, bytes, .. })) => Message::Pages { pages, bytes },
                Ok(Some(Message::Keep { pages, .. })) => Message::Kept { pages },
                Ok(None) if link.ended() => return cx.close(stream),
                Ok(None) => break,
                // What came is nothing that a program says.
                Ok(Some(_)) | Err(_) => {
                    cx.abort(stream);
                    return self.forget(stream);
                }
            };
            self.waiting.push(Request { stream, answer });
        }
        self.serve(cx);
    }

    fn serve(&mut self, cx: &mut dyn Context) {
        while self.busy.is_none() {
            let first = (0..self.waiting.len()).min_by_key(|at| self.waiting[*at].rank(self.schedule));
            let Some(first) = first else { return };
            let request = self.waiting.remove(first);
            let takes = self.serve.saturating_mul(request.pages().into());
            if takes == Time::ZERO {
                self.answer(request, cx);
            } else {
                self.busy = Some(request);
                cx.compute(0, takes);
            }
        }
    }

    fn answer(&mut self, request: Request, cx: &mut dyn Context) {
        if let Some(link) = self.links.get_mut(&request.stream) {
            link.send(&request.answer, cx);
        }
    }

    fn forget(&mut self, stream: StreamId) {
        self.links.remove(&stream);
        self.waiting.retain(|request| request.stream != stream);
    }
}

impl Process for Memory {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                self.links.clear();
                self.waiting.clear();
                self.busy = None;
                cx.listen(self.port);
                // It has no share of its own to do.
                cx.finish();
            }
            Event::Accepted { stream, .. } => drop(self.links.insert(stream, Link::new(stream))),
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(link) = self.links.get_mut(&stream) {
                    link.flush(cx);
                }
            }
            Event::Closed { stream, .. } => self.forget(stream),
            Event::Computed { .. } => {
                if let Some(request) = self.busy.take() {
                    self.answer(request, cx);
                }
                self.serve(cx);
            }
            _ => {}
        }
    }
}
