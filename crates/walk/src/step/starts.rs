//! Where walks begin: so many from each of some nodes.

use thiserror::Error;

use super::record::Record;
use super::{Rule, Stream};

/// The walks of a run. Walk `i` is number `first + i % walks` from `nodes[i / walks]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starts {
    pub(crate) nodes: Vec<u32>,
    pub(crate) walks: u32,
    pub(crate) first: u32,
}

/// A start that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("start {index}: node {node} is outside 0–{}", i64::from(*nodes) - 1)]
pub struct StartError {
    /// Its position among the starts.
    pub index: usize,
    /// The node.
    pub node: u32,
    /// How many nodes there are.
    pub nodes: u32,
}

impl Starts {
    /// `walks` walks from each of `nodes`. A node that comes twice has the same walks twice.
    pub fn new(nodes: Vec<u32>, walks: u32) -> Self {
        Self { nodes, walks, first: 0 }
    }

    /// The walks from each node are numbered from `first` on: a run in parts has the walks of one in one
    /// piece.
    #[must_use]
    pub fn from_number(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// `walks` walks from every node of a graph.
    pub fn all(nodes: u32, walks: u32) -> Self {
        Self::new((0..nodes).collect(), walks)
    }

    /// How many walks there are.
    pub fn walks(&self) -> u64 {
        self.nodes.len() as u64 * u64::from(self.walks)
    }

    /// The nodes.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// How many walks begin at each of them.
    pub fn walks_per_node(&self) -> u32 {
        self.walks
    }

    pub(crate) fn check(&self, nodes: u32) -> Result<(), StartError> {
        match self.nodes.iter().position(|&node| node >= nodes) {
            Some(index) => Err(StartError { index, node: self.nodes[index], nodes }),
            None => Ok(()),
        }
    }
}

/// A walk that can begin and has a step to take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    /// Its number in the queue.
    pub(crate) walk: u32,
    pub(crate) start: u32,
    pub(crate) steps: u32,
    pub(crate) stream: Stream,
    /// What its record wants to be told.
    pub(crate) mark: usize,
}

/// Some of the walks of a run, one after another.
pub(crate) struct Queue<'a> {
    starts: &'a Starts,
    rule: &'a Rule,
    seed: u64,
    node: usize,
    number: u32,
    taken: u32,
    left: u32,
}

impl<'a> Queue<'a> {
    /// The walks from `first` to before `end`.
    pub(crate) fn new(starts: &'a Starts, rule: &'a Rule, seed: u64, first: u64, end: u64) -> Self {
        let walks = u64::from(starts.walks);
        let (node, number) = ((first / walks) as usize, (first % walks) as u32);
        Self { starts, rule, seed, node, number, taken: 0, left: (end - first) as u32 }
    }

    /// Puts the next walks into `ready`, as many as fit or are left, without those that have no step, and
    /// says how many these are; none when no walk was left. Streams and lengths depend on nothing, so the
    /// processor makes several at a time.
    #[inline(never)]
    pub(crate) fn take<R: Record>(&mut self, ready: &mut [Ready], record: &mut R) -> Option<usize> {
        let some = self.left.min(ready.len() as u32);
        self.left -= some;
        let mut filled = 0;
        let end = self.taken + some;
        while self.taken < end {
            let start = self.starts.nodes[self.node];
            let same = (end - self.taken).min(self.starts.walks - self.number);
            for number in self.number..self.number + same {
                let stream = Stream::of(self.seed, start, self.starts.first.wrapping_add(number));
                let steps = self.rule.steps(stream);
                let mark = record.begin(start, steps);
                ready[filled] = Ready { walk: self.taken, start, steps, stream, mark };
                // Without a branch that nobody can foresee.
                filled += usize::from(steps > 0);
                self.taken += 1;
            }
            self.number += same;
            if self.number == self.starts.walks {
                (self.node, self.number) = (self.node + 1, 0);
            }
        }
        (some > 0).then_some(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Ends, Walk};

    #[test]
    fn walks_come_in_order_from_anywhere() {
        let starts = Starts::new(vec![7, 9], 3);
        let rule = Rule::new(&Walk::fixed(4)).unwrap();
        let mut queue = Queue::new(&starts, &rule, 5, 2, 5);
        let (mut walks, mut some) = (Vec::new(), [Ready::default(); 2]);
        while let Some(filled) = queue.take(&mut some, &mut Ends::default()) {
            walks.extend_from_slice(&some[..filled]);
        }
        let found: Vec<_> = walks.iter().map(|ready| (ready.walk, ready.start, ready.steps)).collect();
        assert_eq!(found, [(0, 7, 4), (1, 9, 4), (2, 9, 4)]);
        assert_eq!(walks[0].stream, Stream::of(5, 7, 2));
        assert_eq!(starts.check(9).unwrap_err().to_string(), "start 1: node 9 is outside 0–8");
    }
}
