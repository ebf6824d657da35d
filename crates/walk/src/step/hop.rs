//! One decision about one walker on a server's part: a step, the fate of a candidate, or the end. Walks are
//! the same as those that are walked in memory, step for step, because each draws from its own stream in the
//! same order:
//!
//! 1. at a dead end: nothing;
//! 2. with a restart probability: one number, restart or not;
//! 3. for each neighbour that is tried: one number (and with weights and a bias one more).

use crate::graph::Columns;
use crate::partition::ServerPart;

use super::bias::Verdict;
use super::{DeadEnd, Rule, Stream};

/// A walker between two decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it began.
    pub start: u32,
    /// The server that owns the start.
    pub home: u16,
    /// Where it is.
    pub at: u32,
    /// Where it was before, for second-order walks; none at the start and after a restart.
    pub previous: Option<u32>,
    /// A neighbour that was drawn, and of which only its own server knows whether it is next to `previous`;
    /// or `at` itself once that neighbour was rejected, so that the step draws another and does not begin
    /// again.
    pub candidate: Option<u32>,
    /// Steps so far.
    pub steps: u32,
    /// What it draws from.
    pub stream: Stream,
}

/// What comes of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// It goes on here.
    Here,
    /// Another server decides next.
    To(u16),
    /// The walk is over.
    End,
}

impl Place {
    /// A walker at its start.
    pub fn new(start: u32, home: u16, stream: Stream) -> Self {
        Self { start, home, at: start, previous: None, candidate: None, steps: 0, stream }
    }

    /// The node whose server decides next.
    pub fn asks(&self) -> u32 {
        self.candidate.unwrap_or(self.at)
    }
}

impl Rule {
    /// Decides once about a walker whose walk has `length` steps ([`Rule::steps`]). A walker that this part
    /// can't decide about ([`Place::asks`] is not its own) ends; so does one whose next server the part can't
    /// know, which only a walker that no server sent can bring about.
    pub fn hop(&self, part: &ServerPart, length: u32, place: &mut Place) -> Hop {
        if place.steps >= length {
            return Hop::End;
        }
        match (place.candidate.take(), part.row(place.at)) {
            (Some(candidate), _) if candidate != place.at => self.answer(part, length, place, candidate),
            (again, Some(row)) => self.step(part, row, length, place, again.is_some()),
            (_, None) => Hop::End,
        }
    }

    fn step(&self, part: &ServerPart, row: u32, length: u32, place: &mut Place, again: bool) -> Hop {
        let graph = part.rows();
        if graph.degree(row) == 0 {
            return match self.dead_end {
                DeadEnd::Stop => Hop::End,
                DeadEnd::Restart => restart(part, length, place),
            };
        }
        if self.restart > 0 && !again && place.stream.next() < self.restart {
            return restart(part, length, place);
        }
        loop {
            let (at, fraction) = graph.rows()[row as usize].draw(place.stream.next());
            let (candidate, random) = match graph.columns() {
                Columns::Even(targets) => (targets[at], fraction),
                Columns::Weighted(slots, _) => (slots[at].pick(fraction), 0),
            };
            let (Some(bias), Some(before)) = (self.bias, place.previous) else {
                return arrive(part, length, place, candidate);
            };
            let random = if graph.weighted() { place.stream.next() } else { random };
            let keeps = match bias.judge(candidate, before, random) {
                Verdict::Keep => true,
                Verdict::Reject => false,
                Verdict::Ask if part.owns(candidate) => bias.keeps(part.has_arc(candidate, before)),
                Verdict::Ask if !part.directed() && part.owns(before) => {
                    bias.keeps(part.has_arc(before, candidate))
                }
                Verdict::Ask => {
                    place.candidate = Some(candidate);
                    return part.owner(candidate).map_or(Hop::End, Hop::To);
                }
            };
            if keeps {
                return arrive(part, length, place, candidate);
            }
        }
    }

    /// Decides about a candidate that is an own node.
    fn answer(&self, part: &ServerPart, length: u32, place: &mut Place, candidate: u32) -> Hop {
        let (Some(bias), Some(before), true) = (self.bias, place.previous, part.owns(candidate)) else {
            return Hop::End;
        };
        if bias.keeps(part.has_arc(candidate, before)) {
            return arrive(part, length, place, candidate);
        }
        place.candidate = Some(place.at);
        go(part, place.at)
    }
}

fn arrive(part: &ServerPart, length: u32, place: &mut Place, to: u32) -> Hop {
    place.previous = Some(place.at);
    place.at = to;
    place.steps += 1;
    if place.steps >= length { Hop::End } else { go(part, to) }
}

fn restart(part: &ServerPart, length: u32, place: &mut Place) -> Hop {
    place.previous = None;
    place.at = place.start;
    place.steps += 1;
    if place.steps >= length {
        Hop::End
    } else if place.home == part.server() {
        Hop::Here
    } else {
        Hop::To(place.home)
    }
}

fn go(part: &ServerPart, node: u32) -> Hop {
    match part.owner(node) {
        Some(owner) if owner == part.server() => Hop::Here,
        Some(owner) => Hop::To(owner),
        None => Hop::End,
    }
}
