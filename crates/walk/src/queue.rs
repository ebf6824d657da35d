//! RQ: the walkers that wait at a server, those that came and those that are new alike (document 000, *RQ*).
//!
//! A discipline decides which walker it drops; whatever it is, the queue holds no more than `limit`. The
//! walker that is being served does not count.

use crate::codel::{Codel, CodelSettings};
use crate::red::{Red, RedSettings, Verdict};
use crate::wire::Walker;
use crate::wire::packed::{More, Packed};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Time;

/// Which walker is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Discipline {
    /// The one that finds the queue full.
    TailDrop {},
    /// Random early detection, on entering.
    Red(RedSettings),
    /// Controlled delay, on leaving.
    Codel(CodelSettings),
}

/// Why a walker was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// By RED's chance.
    Early,
    /// RED's upper threshold.
    Forced,
    /// The queue was full.
    Full,
    /// It had waited for too long (CoDel).
    Wait,
}

enum State {
    TailDrop,
    Red(Box<Red>),
    Codel(Box<Codel>),
}

/// The queue.
pub(crate) struct Queue {
    waiting: VecDeque<Packed>,
    /// What some of them carry beside, in their order.
    more: VecDeque<More>,
    /// When they came; only CoDel asks.
    came: VecDeque<Time>,
    limit: usize,
    state: State,
    /// Longest since it was last asked for.
    longest: usize,
}

impl Queue {
    pub(crate) fn new(discipline: Discipline, limit: u64) -> Queue {
        let state = match discipline {
            Discipline::TailDrop {} => State::TailDrop,
            Discipline::Red(red) => State::Red(Box::new(Red::new(red))),
            Discipline::Codel(codel) => State::Codel(Box::new(Codel::new(codel))),
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (waiting, more, came) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Queue { waiting, more, came, limit, state, longest: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The longest that it has been since the last call.
    pub(crate) fn take_longest(&mut self) -> usize {
        std::mem::replace(&mut self.longest, self.waiting.len())
    }

    /// Whether a walker may come in, or why not. `draw` gives a random fraction, if one is needed.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, draw: impl FnOnce() -> f64) -> Result<(), Cause> {
        let length = self.waiting.len();
        let verdict = match &mut self.state {
            State::Red(red) => red.admit(now, length, draw),
            State::TailDrop | State::Codel(_) => Verdict::Accept,
        };
        match verdict {
            Verdict::Early => Err(Cause::Early),
            Verdict::Forced => Err(Cause::Forced),
            Verdict::Accept if length >= self.limit => Err(Cause::Full),
            Verdict::Accept => Ok(()),
        }
    }

    /// Lets in a walker that may come in.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, walker: Walker) {
        let (packed, more) = Packed::of(walker);
        self.more.extend(more);
        self.push_packed(now, packed);
    }

    /// The same for a walker that carries nothing more.
    #[inline(always)]
    pub(crate) fn push_packed(&mut self, now: Time, walker: Packed) {
        if let State::Codel(_) = self.state {
            self.came.push_back(now);
        }
        self.waiting.push_back(walker);
        self.longest = self.longest.max(self.waiting.len());
    }

    /// The walker that is served next; one that CoDel drops goes to `dropped`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, dropped: impl FnMut(Walker)) -> Option<Walker> {
        let Queue { waiting, more, came, state, .. } = self;
        let mut take = || {
            let packed = waiting.pop_front()?;
            let more = if packed.has_more() { more.pop_front() } else { None };
            Some((came.pop_front().unwrap_or(now), packed.unpack(more), waiting.len()))
        };
        let next = match state {
            State::Codel(codel) => codel.dequeue(now, take, dropped),
            State::TailDrop | State::Red(_) => take().map(|(_, walker, _)| walker),
        };
        self.taken(now);
        next
    }

    /// Takes up to `most` of those that are served next, where none carries more than all do.
    pub(crate) fn pop_packed(
        &mut self,
        now: Time,
        most: usize,
        batch: &mut Vec<Packed>,
        dropped: &mut Vec<Walker>,
    ) {
        if let State::Codel(_) = self.state {
            let next = std::iter::from_fn(|| self.pop(now, |walker| dropped.push(walker)));
            return batch.extend(next.take(most).map(|walker| Packed::of(walker).0));
        }
        let count = most.min(self.waiting.len());
        let (front, back) = self.waiting.as_slices();
        let first = &front[..count.min(front.len())];
        batch.extend_from_slice(first);
        batch.extend_from_slice(&back[..count - first.len()]);
        self.waiting.drain(..count);
        self.taken(now);
    }

    fn taken(&mut self, now: Time) {
        if self.waiting.is_empty() {
            // Begins again at the front of its memory: that is what the cache holds.
            self.waiting.clear();
            if let State::Red(red) = &mut self.state {
                red.idle(now);
            }
        }
    }

    /// A walker has been served in `time`.
    pub(crate) fn served(&mut self, time: Time) {
        if let State::Red(red) = &mut self.state {
            red.served(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::WalkId;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    fn walker(number: u32) -> Walker {
        let id = WalkId { start: 0, number, attempt: 1, epoch: 0, born_ns: 0 };
        let (previous, candidate, path) = (None, None, Vec::new());
        Walker { id, source: 0, at: 0, previous, candidate, steps: 0, random: 0, path }
    }

    fn fill(discipline: Discipline, n: u32) -> (Queue, Vec<(u32, Cause)>) {
        let mut queue = Queue::new(discipline, 100);
        let mut rng = Pcg64::seed_from_u64(1);
        let mut drops = Vec::new();
        for number in 0..n {
            match queue.admit(Time::ZERO, || rng.random()) {
                Ok(()) => queue.push(Time::ZERO, walker(number)),
                Err(cause) => drops.push((number, cause)),
            }
        }
        (queue, drops)
    }

    #[test]
    fn tail_drop_takes_a_hundred_and_serves_them_in_order() {
        let (mut queue, drops) = fill(Discipline::TailDrop {}, 150);
        assert_eq!(drops, (100..150).map(|n| (n, Cause::Full)).collect::<Vec<_>>());
        let order: Vec<u32> =
            std::iter::from_fn(|| queue.pop(Time::ZERO, |_| ())).map(|w| w.id.number).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert_eq!((queue.take_longest(), queue.take_longest()), (100, 0));
    }

    #[test]
    fn red_drops_some_early_and_never_holds_more() {
        let (queue, drops) = fill(Discipline::Red(RedSettings::default()), 1000);
        assert_eq!(queue.len(), 100);
        assert!(drops.iter().any(|(_, cause)| *cause == Cause::Early));
        assert_eq!(drops.last(), Some(&(999, Cause::Forced)));
    }

    #[test]
    fn codel_drops_who_has_waited_and_never_holds_more() {
        let (mut queue, drops) = fill(Discipline::Codel(CodelSettings::default()), 101);
        assert_eq!(drops, [(100, Cause::Full)]);
        let mut late = Vec::new();
        for ms in 0..60 {
            queue.pop(Time::from_ms(10 + ms), |walker| late.push(walker.id.number));
        }
        assert!(!late.is_empty());
    }
}
