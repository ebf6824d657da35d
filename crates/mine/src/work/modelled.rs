//! Work of which only the amounts are known: those of a run of the real miner, or of one in a document.
//! Messages to the owners of candidates carry zeros of the right length; large itemsets are as many as there
//! should be, of no particular items.
//!
//! What a node finds goes to the owners at random, as hashing does: binomial, by its normal approximation.

use super::outbox::Outbox;
use super::{Effort, PassWork, Work, entries};
use crate::items::Level;
use crate::node::link::Body;
use crate::node::settings::Settings;
use crate::node::stage::{Stage, Stages, Step};
use crate::node::wire::{Kind, Part};
use process::rng;
use process::wire::Malformed;
use rand::RngExt;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::Problem;

/// What a pass is, over all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassModel {
    /// Candidates; none in pass 1.
    pub candidates: Option<u64>,
    /// Large itemsets.
    pub large: u64,
    /// Candidates that are found in transactions, each as often as it is.
    pub found: u64,
    /// Things that are sent to owners, a node's own included.
    pub entries: u64,
    /// Bytes of such a thing.
    pub entry_bytes: u64,
    /// Times that the transactions are gone over.
    pub scans: u32,
}

/// What a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Items of all transactions.
    pub items: u64,
    /// From pass 1 on.
    pub passes: Vec<PassModel>,
}

/// Large itemsets of a modelled pass, at most: their items are made up below and above it.
const LARGE_MAX: u64 = 1 << 20;
/// Passes, at most.
const PASSES_MAX: usize = 1000;

impl Profile {
    /// Refuses what can't be.
    ///
    /// # Errors
    /// The first field that can't be as it is.
    pub fn check(&self) -> Result<(), Problem> {
        if self.passes.is_empty() || self.passes.len() > PASSES_MAX {
            return Err(Problem::new("passes", "1 to 1000 are allowed"));
        }
        for (at, pass) in self.passes.iter().enumerate() {
            let refuse =
                |field: &'static str, message| Err(Problem::new(field, message).within(("passes", at)));
            if pass.large > LARGE_MAX {
                return refuse("large", "at most 1048576 are allowed");
            }
            if pass.large == 0 && at + 1 < self.passes.len() {
                return refuse("large", "0: then no pass follows");
            }
            if pass.candidates.is_none() != (at == 0) {
                return refuse("candidates", "each pass but the first has them");
            }
            if pass.candidates.is_some_and(|candidates| candidates < pass.large.max(1)) {
                return refuse("candidates", "at least as many as are large, and 1, are allowed");
            }
            if !(1..=64).contains(&pass.entry_bytes) {
                return refuse("entry_bytes", "1 to 64 are allowed");
            }
            if !(1..=10_000).contains(&pass.scans) {
                return refuse("scans", "1 to 10000 are allowed");
            }
        }
        Ok(())
    }
}

/// The work of a node without transactions.
pub struct Modelled {
    settings: Arc<Settings>,
    profile: Arc<Profile>,
    me: usize,
    seed: u64,
    /// Bytes that are read at a time.
    io: u64,
    pass: usize,
    generation: Option<Generation>,
    found: Level,
    items: Vec<u32>,
    counts: Vec<u64>,
}

/// A stage under way.
struct Generation {
    step: Step,
    /// Reads, and those done.
    steps: u64,
    done: u64,
    rng: Pcg64,
}

impl Modelled {
    /// Of node `me`, in reads of `io` bytes.
    #[must_use]
    pub fn new(settings: Arc<Settings>, profile: Arc<Profile>, me: usize, seed: u64, io: u64) -> Modelled {
        Modelled {
            settings,
            profile,
            me,
            seed,
            io: io.max(1),
            pass: 0,
            generation: None,
            found: Level::new(1),
            items: Vec::new(),
            counts: Vec::new(),
        }
    }

    fn model(&self) -> &PassModel {
        &self.profile.passes[self.pass - 1]
    }

    /// The node's part of something.
    fn part(&self, all: u64) -> u64 {
        let total = u128::from(self.settings.total().max(1));
        (u128::from(all) * u128::from(self.settings.derived.transactions[self.me]) / total) as u64
    }

    /// The `step`th part of so much.
    fn of_step(all: u64, step: u64, steps: u64) -> u64 {
        let until = |step: u64| (u128::from(all) * u128::from(step) / u128::from(steps)) as u64;
        until(step + 1) - until(step)
    }

    /// A word an item, and one for how many there are.
    fn bytes(&self) -> u64 {
        4 * (self.part(self.profile.items) + self.settings.derived.transactions[self.me])
    }

    fn give(&mut self, out: &mut Outbox) -> (Effort, bool) {
        let (model, kind) = (*self.model(), if self.pass == 1 { Kind::Counts } else { Kind::Occurrences });
        let Some(Generation { steps, done, .. }) = self.generation else { return (Effort::default(), true) };
        if done == steps {
            return (Effort::default(), true);
        }
        let some = |all: u64| Self::of_step(all, done, steps);
        let scan = |all: u64| some(self.part(all));
        let slices = u64::from(model.scans);
        let effort = Effort {
            transactions: some(self.settings.derived.transactions[self.me]),
            items: scan(self.profile.items),
            bytes: some(self.bytes()),
            generated: scan(model.found / slices),
            ..Effort::default()
        };
        let entries = if self.pass == 1 {
            // Counts are sent when all items have been counted.
            if done + 1 == steps { self.part(model.entries) } else { 0 }
        } else {
            scan(model.entries / slices)
        };
        let generation = self.generation.as_mut().expect("it was just looked at");
        generation.done += 1;
        let nodes = out.nodes();
        let mut left = entries;
        for to in 0..nodes {
            let mine = binomial(left, (nodes - to) as u64, &mut generation.rng);
            left -= mine;
            out.zeros(to, kind, mine, model.entry_bytes);
        }
        (effort, false)
    }
}

/// How many of `n` fall to the first of `parts` equal parts.
fn binomial(n: u64, parts: u64, rng: &mut Pcg64) -> u64 {
    if parts == 1 || n == 0 {
        return n;
    }
    let mean = n as f64 / parts as f64;
    let deviation = (mean * (1.0 - 1.0 / parts as f64)).sqrt();
    // Of twelve uniform draws: variance 1, and nothing that differs from machine to machine.
    let normal: f64 =
        (0..12).map(|_| rng.random_range(0..1u64 << 32) as f64 / (1u64 << 32) as f64).sum::<f64>() - 6.0;
    ((mean + deviation * normal + 0.5).max(0.0) as u64).min(n)
}

/// The owner of a made-up itemset.
fn owner(number: u32, pass: usize, nodes: usize) -> usize {
    super::space::owner_of_item(number.wrapping_mul(31).wrapping_add(pass as u32), nodes)
}

/// A made-up itemset.
fn itemset(number: u32, length: usize) -> Vec<u32> {
    std::iter::once(number).chain((1..length as u32).map(|at| LARGE_MAX as u32 + at)).collect()
}

impl Work for Modelled {
    fn reset(&mut self) {
        self.generation = None;
    }

    fn begin(&mut self, pass: u32, levels: &[Level]) -> Option<PassWork> {
        self.pass = pass as usize;
        let model = *self.profile.passes.get(self.pass - 1)?;
        if levels.last().is_some_and(Level::is_empty) {
            return None;
        }
        let nodes = self.settings.nodes();
        self.found = Level::new(self.pass);
        for number in 0..model.large as u32 {
            if owner(number, self.pass, nodes) == self.me {
                self.found.push(&itemset(number, self.pass), self.settings.derived.minimum);
            }
        }
        (self.items, self.counts) = (Vec::new(), Vec::new());
        let stages = Stages { slices: model.scans, asks: false };
        Some(PassWork { candidates: model.candidates, stages, scans: model.scans.into() })
    }

    fn start(&mut self, stage: Stage) {
        let steps = self.bytes().div_ceil(self.io).max(1);
        let name = format!("mine.{}.{}.{}", self.me, stage.pass, stage.slice);
        let rng = rng::stream(self.seed, &name);
        self.generation = Some(Generation { step: stage.step, steps, done: 0, rng });
    }

    fn step(&mut self, out: &mut Outbox) -> (Effort, bool) {
        let order = || self.settings.destinations(self.me).chain([self.me]);
        if self.generation.as_ref().is_some_and(|generation| generation.step == Step::Large) {
            for (itemset, count) in self.found.iter() {
                order().for_each(|to| out.itemset(to, itemset, count as u32));
            }
            out.finish(order());
            return (Effort::default(), true);
        }
        let (effort, done) = self.give(out);
        if done {
            out.finish(self.settings.destinations(self.me).chain([self.me]));
        }
        (effort, done)
    }

    fn receive(&mut self, from: usize, part: &Part, body: &Body) -> Result<Effort, Malformed> {
        if part.stage.step == Step::Large {
            let used = body.data.get(..part.used as usize).ok_or(Malformed)?;
            let words = entries::words(used, part.entries, self.pass + 1)?;
            for row in words.chunks_exact(self.pass + 1) {
                let (made_up, count) = row.split_at(self.pass);
                let known = u64::from(made_up[0]) < self.model().large
                    && made_up == itemset(made_up[0], self.pass)
                    && owner(made_up[0], self.pass, self.settings.nodes()) == from;
                if !known {
                    return Err(Malformed);
                }
                self.items.extend_from_slice(made_up);
                self.counts.push(count[0].into());
            }
        }
        Ok(Effort { probed: part.entries.into(), ..Effort::default() })
    }

    fn complete(&mut self, _: Stage) {}

    fn level(&mut self) -> Level {
        Level::sorted(self.pass, &self.items, &self.counts)
    }

    fn found_bytes(&self) -> usize {
        0
    }

    fn transactions(&self) -> u64 {
        self.settings.derived.transactions[self.me]
    }
}
