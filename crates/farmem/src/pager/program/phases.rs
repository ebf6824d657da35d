//! A thread's work between two waits, from a step to the next fault and through it.

use super::thread::{Phase, Thread, Touched};
use super::{PACK, Program, RELEASE, State};
use crate::local::Met;
use crate::pager::board::{Fault, Outcome};
use crate::pager::settings::WriteBack;
use crate::pager::wire::Message;
use crate::steps::Step;
use process::Context;
use units::Time;

/// Steps without a fault that are gone through at once.
const BURST: u32 = 1 << 16;

impl Program {
    /// All threads go on as far as they can without waiting.
    pub(super) fn go(&mut self, cx: &mut dyn Context) {
        if self.state != State::Run {
            return;
        }
        // What one does may be what another waits for.
        while (0..self.threads.len()).any(|thread| self.advance(thread, cx)) {}
        if self.threads.iter().all(|thread| thread.phase == Phase::Done && !thread.computing) {
            self.done(cx);
        }
    }

    /// This thread goes on as far as it can. Whether it did.
    fn advance(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        let mut moved = false;
        while !self.threads[of].computing
            && match self.threads[of].phase {
                Phase::Begin => self.begin(of),
                Phase::Run => self.run(of, cx),
                Phase::Await => self.wait(of, cx),
                Phase::Touch => self.touch(of, cx),
                Phase::Handled => self.handled(of),
                Phase::Send => self.send(of, cx),
                Phase::Room => self.room(of, cx),
                Phase::Fetch => self.fetch(of, cx),
                Phase::Resume => self.resume(of, cx),
                Phase::Fetching | Phase::Done => false,
            }
        {
            moved = true;
        }
        moved
    }

    /// The thread's next phase comes after so much time on a core.
    fn after(&mut self, of: usize, time: Time, next: Phase, cx: &mut dyn Context) -> bool {
        let thread = &mut self.threads[of];
        thread.phase = next;
        thread.computing = time > Time::ZERO;
        if thread.computing {
            cx.compute(of as u64, time);
        }
        true
    }

    fn begin(&mut self, of: usize) -> bool {
        let begins = self.threads[0].done >= self.threads[of].accesses.begins();
        if begins {
            self.threads[of].phase = Phase::Run;
        }
        begins
    }

    fn run(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        let alone = self.threads.len() == 1;
        let mut computed = Time::ZERO;
        for _ in 0..BURST {
            let Some(step) = self.threads[of].next(&mut computed) else {
                return self.after(of, computed, Phase::Done, cx);
            };
            // Steps of other threads come in between. A thread that is alone goes on to its next fault.
            if !alone && computed > Time::ZERO {
                self.threads[of].step = Some(step);
                return self.after(of, computed, Phase::Run, cx);
            }
            if !alone && self.is_coming(step) {
                let thread = &mut self.threads[of];
                (thread.step, thread.since, thread.phase) = (Some(step), cx.now(), Phase::Await);
                return true;
            }
            if self.faults(of, step) {
                return self.after(of, computed, Phase::Touch, cx);
            }
        }
        self.after(of, computed, Phase::Run, cx)
    }

    /// The thread takes the step. Whether that is a fault.
    fn faults(&mut self, of: usize, step: Step) -> bool {
        let thread = &mut self.threads[of];
        let Some(met) = self.local.step(step, &mut thread.back) else { return false };
        let (Step::Read(page) | Step::Write(page)) = step else { return false };
        self.totals.counts.add(met, thread.back.len(), self.settings.local.pages_a_request);
        let fetch = match met {
            Met::Hit => return false,
            Met::Cold => 0,
            Met::Fault { ahead } => ahead + 1,
        };
        let written_back = thread.back.len() as u32;
        thread.touched = Some(Touched { page, fetch, asked: 0, written_back, start: Time::ZERO });
        true
    }

    /// Whether the page is on its way: nobody uses it or gives it back before it is there.
    fn is_coming(&self, step: Step) -> bool {
        match step {
            Step::Read(page) | Step::Write(page) | Step::Free(page) => {
                self.threads.iter().any(|thread| thread.expects(page))
            }
            Step::Dirty(_) => false,
        }
    }

    fn wait(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        let Thread { step, since, .. } = self.threads[of];
        let is_there = step.is_none_or(|step| !self.is_coming(step));
        if is_there {
            self.totals.stall = self.totals.stall.saturating_add(cx.now().saturating_sub(since));
            self.threads[of].phase = Phase::Run;
        }
        is_there
    }

    fn touch(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        let costs = &self.settings.costs;
        let thread = &mut self.threads[of];
        let packing = match self.settings.write_back {
            WriteBack::Before => costs.compress.saturating_mul(thread.back.len() as u64),
            WriteBack::After => Time::ZERO,
        };
        let takes = costs.handler.saturating_add(packing);
        if let Some(touched) = &mut thread.touched {
            touched.start = cx.now();
        }
        self.after(of, takes, Phase::Handled, cx)
    }

    fn handled(&mut self, of: usize) -> bool {
        let thread = &mut self.threads[of];
        thread.phase = match self.settings.write_back {
            WriteBack::Before => Phase::Send,
            WriteBack::After => {
                self.outgoing.push(&thread.back, self.settings.local.pages_a_request);
                thread.back.clear();
                Phase::Room
            }
        };
        true
    }

    /// A request after the other, as the document's formula has it.
    fn send(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        let thread = &mut self.threads[of];
        if !self.outgoing.has_kept(thread.sent) {
            return false;
        }
        if thread.back.is_empty() {
            thread.phase = Phase::Room;
            return true;
        }
        let pages_a_request = self.settings.local.pages_a_request;
        let pages = thread.back.len().min(pages_a_request as usize);
        self.outgoing.push(&thread.back[..pages], pages_a_request);
        thread.back.drain(..pages);
        thread.sent = self.outgoing.pushed();
        self.outgoing.pack();
        self.release(cx);
        false
    }

    fn room(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        self.pack(cx);
        if self.is_held(of) {
            self.release(cx);
            // On one stream, what is sent is there before a request that follows.
            if self.is_held(of) {
                return false;
            }
        }
        self.threads[of].phase = Phase::Fetch;
        true
    }

    /// Whether the fault has to wait: too much is on its way back, or one of its own pages is and a request
    /// could overtake it.
    fn is_held(&self, of: usize) -> bool {
        let is_full = match self.settings.write_back {
            WriteBack::Before => false,
            WriteBack::After => self.outgoing.pages() > self.settings.write_buffer,
        };
        let unsent = !self.settings.schedule.apart();
        let coming =
            self.threads[of].touched.map_or(0..0, |touched| touched.page..touched.page + touched.fetch);
        is_full
            || self.outgoing.holds(coming.clone(), unsent)
            || self.threads.iter().flat_map(|thread| &thread.back).any(|page| coming.contains(page))
    }

    fn fetch(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        let Some(touched) = &mut self.threads[of].touched else { return false };
        let pages = (touched.fetch - touched.asked).min(self.settings.local.pages_a_request);
        if pages == 0 {
            let takes = self.settings.costs.decompress.saturating_mul(touched.fetch.into());
            return self.after(of, takes, Phase::Resume, cx);
        }
        let page = self.pages[touched.page as usize] + u64::from(touched.asked);
        touched.asked += pages;
        let bytes = self.settings.page.get() as u32;
        self.threads[of].phase = Phase::Fetching;
        self.fetching.push_back((of, pages));
        self.totals.sent_bytes += self.links[0].send(&Message::Fetch { page, pages, bytes }, cx);
        // What left follows a moment later: the request leaves in a packet of its own, as it does where each
        // write is sent at once.
        cx.set_timer(RELEASE, Time::ZERO);
        false
    }

    fn resume(&mut self, of: usize, cx: &mut dyn Context) -> bool {
        if let Some(touched) = self.threads[of].touched.take() {
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
        self.threads[of].phase = Phase::Run;
        self.release(cx);
        true
    }

    fn done(&mut self, cx: &mut dyn Context) {
        if self.totals.end.is_none() {
            self.totals.end = Some(cx.now());
            self.totals.outcome = Outcome::Finished;
            self.end_task(cx);
        }
        self.release(cx);
        if self.outgoing.is_empty() {
            self.state = State::Over;
            self.links.iter().for_each(|link| cx.close(link.stream));
        }
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
