//! A program's work between two waits, from a step to the next fault and through it.

use super::{OWN, PACK, Program, RELEASE, Touched};
use crate::local::Met;
use crate::pager::board::{Fault, Outcome};
use crate::pager::settings::WriteBack;
use crate::pager::wire::Message;
use crate::steps::Step;
use process::Context;
use units::Time;

/// Steps without a fault that are gone through at once.
const BURST: u32 = 1 << 16;

/// What comes next, as soon as what is awaited has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
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

impl Program {
    /// Goes on as far as it can without waiting.
    pub(super) fn go(&mut self, cx: &mut dyn Context) {
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
    pub(super) fn pack(&mut self, cx: &mut dyn Context) {
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
    pub(super) fn release(&mut self, cx: &mut dyn Context) {
        let bytes = self.settings.page.get() as u32;
        while let Some(pages) = self.outgoing.send() {
            let link = self.links.last_mut().expect("streams were opened");
            self.totals.sent_bytes += link.send(&Message::Keep { pages, bytes }, cx);
        }
    }
}
