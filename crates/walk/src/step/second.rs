//! Many walkers of the second order at once. A round has four passes over all walkers: choose an arc; look at
//! the neighbour that it leads to and decide, if the draw alone decides; for those that must ask, find the
//! shorter of the two rows in which the answer lies; search all these rows side by side. Each pass asks for
//! the cache lines that the next one reads.

use mem::prefetch_at;

use crate::graph::{Arc, Row};

use super::DeadEnd;
use super::bias::{Bias, Verdict};
use super::first::Run;
use super::record::Record;
use super::starts::{Queue, Ready};

/// Walkers that move at once.
const LANES: usize = 128;
/// Walks that are made ready at once.
const READY: usize = 64;
/// Arcs that are searched one by one: those of a cache line.
const LINE: usize = 16;
/// Stands for no node before: nodes are numbered below it.
const NONE: u32 = u32::MAX;

/// A walker on its way.
struct Lane {
    ready: Ready,
    left: u32,
    node: u32,
    before: u32,
    row: Row,
    before_row: Row,
    /// The arc that was chosen.
    at: usize,
    fraction: u64,
    /// This step has rejected a neighbour already.
    again: bool,
}

/// A search for `target` in a row, for a walker's candidate.
struct Ask {
    lane: usize,
    candidate: u32,
    target: u32,
    /// What is left of the row.
    from: usize,
    length: usize,
}

impl<A: Arc> Run<'_, A> {
    /// Walks all walks of `queue`.
    pub(super) fn second_order<R: Record>(
        &self,
        bias: Bias,
        directed: bool,
        mut queue: Queue<'_>,
        record: &mut R,
    ) {
        let mut lanes: Vec<Lane> = Vec::with_capacity(LANES);
        let mut asks: Vec<Ask> = Vec::with_capacity(LANES);
        let mut walks = Vec::new();
        loop {
            self.refill(&mut lanes, &mut queue, &mut walks, record);
            if lanes.is_empty() {
                return;
            }
            for lane in &mut lanes {
                self.choose_second(lane, record);
            }
            for (index, lane) in lanes.iter_mut().enumerate() {
                self.look(bias, index, lane, &mut asks, record);
            }
            for ask in &mut asks {
                self.aim(directed, ask, &lanes[ask.lane]);
            }
            while !asks.is_empty() {
                self.search(bias, &mut lanes, &mut asks, record);
            }
        }
    }

    /// Puts new walks where one is over.
    fn refill<R: Record>(
        &self,
        lanes: &mut Vec<Lane>,
        queue: &mut Queue<'_>,
        walks: &mut Vec<Ready>,
        record: &mut R,
    ) {
        let mut index = 0;
        while index < LANES {
            if lanes.get(index).is_some_and(|lane| lane.left > 0) {
                index += 1;
                continue;
            }
            while walks.is_empty() {
                walks.resize(READY, Ready::default());
                let filled = queue.take(walks, record);
                walks.truncate(filled.unwrap_or(0));
                if filled.is_none() {
                    break;
                }
                walks.iter().for_each(|ready| prefetch_at(self.rows, ready.start as usize));
            }
            match walks.pop() {
                Some(ready) if index < lanes.len() => lanes[index] = Lane::new(ready),
                Some(ready) => lanes.push(Lane::new(ready)),
                None if index < lanes.len() => drop(lanes.swap_remove(index)),
                None => return,
            }
        }
    }

    /// Chooses the arc that is tried; a restart and a dead end are dealt with at once.
    #[inline(always)]
    fn choose_second<R: Record>(&self, lane: &mut Lane, record: &mut R) {
        lane.row = self.rows[lane.node as usize];
        lane.at = usize::MAX;
        if lane.row.degree() == 0 {
            if self.rule.dead_end == DeadEnd::Stop {
                record.short(lane.ready.walk, lane.left);
                record.end(lane.ready.walk, lane.node);
                lane.left = 0;
                return;
            }
            return self.back(lane, record);
        }
        if self.rule.restart > 0 && !lane.again && lane.ready.stream.next() < self.rule.restart {
            return self.back(lane, record);
        }
        (lane.at, lane.fraction) = lane.row.draw(lane.ready.stream.next());
        self.arcs[lane.at].prefetch();
    }

    /// Back to the start.
    fn back<R: Record>(&self, lane: &mut Lane, record: &mut R) {
        self.arrive(lane, lane.ready.start, record);
        lane.before = NONE;
    }

    /// Looks at the neighbour that was drawn.
    #[inline(always)]
    fn look<R: Record>(
        &self,
        bias: Bias,
        index: usize,
        lane: &mut Lane,
        asks: &mut Vec<Ask>,
        record: &mut R,
    ) {
        let Some(arc) = self.arcs.get(lane.at) else { return };
        let candidate = arc.pick_kept(A::keep(lane.fraction));
        if lane.before == NONE {
            return self.arrive(lane, candidate, record);
        }
        let random = if A::WEIGHTED { lane.ready.stream.next() } else { lane.fraction };
        match bias.judge(candidate, lane.before, random) {
            Verdict::Keep => self.arrive(lane, candidate, record),
            Verdict::Reject => lane.again = true,
            Verdict::Ask => {
                prefetch_at(self.rows, candidate as usize);
                asks.push(Ask { lane: index, candidate, target: 0, from: 0, length: 0 });
            }
        }
    }

    /// Finds where the answer lies: is there an arc from the candidate to the node before?
    #[inline(always)]
    fn aim(&self, directed: bool, ask: &mut Ask, lane: &Lane) {
        let row = self.rows[ask.candidate as usize];
        let (row, target) = if directed || row.degree() <= lane.before_row.degree() {
            (row, lane.before)
        } else {
            (lane.before_row, ask.candidate)
        };
        (ask.target, ask.from, ask.length) = (target, row.offset(), row.degree() as usize);
        prefetch_at(self.arcs, ask.from + ask.length / 2);
    }

    /// Halves what is left of each row; where little is left, answers.
    #[inline(always)]
    fn search<R: Record>(&self, bias: Bias, lanes: &mut [Lane], asks: &mut Vec<Ask>, record: &mut R) {
        let mut index = 0;
        while let Some(ask) = asks.get_mut(index) {
            if ask.length > LINE {
                let half = ask.length / 2;
                if self.arcs[ask.from + half].target() <= ask.target {
                    ask.from += half;
                }
                ask.length -= half;
                prefetch_at(self.arcs, ask.from + ask.length / 2);
                index += 1;
                continue;
            }
            let rest = &self.arcs[ask.from..ask.from + ask.length];
            let found = rest.iter().fold(false, |found, arc| found | (arc.target() == ask.target));
            let lane = &mut lanes[ask.lane];
            if bias.keeps(found) {
                self.arrive(lane, ask.candidate, record);
            } else {
                lane.again = true;
            }
            asks.swap_remove(index);
        }
    }

    #[inline(always)]
    fn arrive<R: Record>(&self, lane: &mut Lane, node: u32, record: &mut R) {
        (lane.before, lane.before_row, lane.node) = (lane.node, lane.row, node);
        lane.again = false;
        prefetch_at(self.rows, node as usize);
        record.visit(&mut lane.ready.mark, node);
        lane.left -= 1;
        if lane.left == 0 {
            record.end(lane.ready.walk, node);
        }
    }
}

impl Lane {
    fn new(ready: Ready) -> Self {
        let (left, node, row) = (ready.steps, ready.start, Row::default());
        Self {
            ready,
            left,
            node,
            before: NONE,
            row,
            before_row: row,
            at: usize::MAX,
            fraction: 0,
            again: false,
        }
    }
}
