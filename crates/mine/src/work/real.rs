//! Work on transactions in memory.

use super::ask::Asking;
use super::count::tiles;
use super::give::Phase;
use super::ground::{Ground, chopped, chunks, duplicated};
use super::outbox::Outbox;
use super::owned_counts::OwnedCounts;
use super::space::Space;
use super::{Effort, PassWork, Work};
use crate::candidate::Slices;
use crate::codes::Codes;
use crate::count::ItemCounts;
use crate::items::Level;
use crate::node::link::Body;
use crate::node::settings::{Algorithm, COUNT_BYTES, Exchange, Settings};
use crate::node::stage::{Stage, Stages, Step};
use crate::node::wire::Part;
use crate::transactions::Transactions;
use process::wire::Malformed;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How counts are sent in passes from the second on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Giving {
    Occurrences,
    /// Over so many transactions, or over all.
    Counts(Option<u64>),
    Frequent,
}

/// The work of a node with its transactions.
pub struct Real {
    pub(super) ground: Ground,
    /// What is left to generate.
    phases: VecDeque<Phase>,
    /// The slice that is received, and the one that is given.
    slice: usize,
    given_slice: usize,
    pub(super) owned: OwnedCounts,
    /// By slice.
    pub(super) asking: Vec<Asking>,
    /// What each node has asked for, by slice.
    pub(super) asked: Vec<Vec<Vec<u32>>>,
    /// The own large itemsets.
    found: Level,
    /// Large itemsets of all nodes, and the last of each.
    pub(super) items: Vec<u32>,
    pub(super) counts: Vec<u64>,
    pub(super) lasts: Vec<Vec<u32>>,
    lasting: bool,
}

impl Real {
    /// Of node `me`. `lasting`: the transactions are kept as they are, so that they outlive a modelled crash.
    #[must_use]
    pub fn new(settings: Arc<Settings>, me: usize, transactions: Arc<Transactions>, lasting: bool) -> Real {
        let ground = Ground {
            settings,
            me,
            raw: Some(transactions),
            coded: None,
            space: Space::Items,
            duplicated: Vec::new(),
        };
        Real {
            ground,
            phases: VecDeque::new(),
            slice: 0,
            given_slice: 0,
            owned: OwnedCounts::Sums(Vec::new()),
            asking: Vec::new(),
            asked: Vec::new(),
            found: Level::new(1),
            items: Vec::new(),
            counts: Vec::new(),
            lasts: Vec::new(),
            lasting,
        }
    }

    pub(super) fn at(&self) -> (usize, usize) {
        (self.ground.me, self.ground.settings.nodes())
    }

    pub(super) fn giving(&self) -> Giving {
        let settings = &self.ground.settings;
        match (settings.exchange, settings.algorithm) {
            (Exchange::Frequent, _) => Giving::Frequent,
            (Exchange::Combined { transactions }, _) => Giving::Counts(transactions),
            (Exchange::Plain, Algorithm::Npa) => Giving::Counts(None),
            (Exchange::Plain, _) => Giving::Occurrences,
        }
    }

    /// Candidates that a slice of a later pass may have: half the memory is for bitmaps. A node that helps
    /// one that is behind, or answers, has two lists with counts; and it has sums.
    fn room_of_lists(&self, length: usize) -> u64 {
        (self.ground.settings.memory / 2 / (2 * (1 + length as u64) * COUNT_BYTES)).max(1)
    }

    /// Pairs that a slice may have, and a tile of it, by the memory of a node.
    fn room(&self) -> (u64, u64) {
        let settings = &self.ground.settings;
        let nodes = settings.nodes() as u64;
        let room = (settings.memory / COUNT_BYTES).max(1);
        match (settings.algorithm, self.giving()) {
            // All at each node, and a part of the sums.
            (Algorithm::Npa, _) => ((room * nodes / (nodes + 1)).max(1), room),
            (Algorithm::Hpa, Giving::Occurrences) => (room.saturating_mul(nodes), room),
            // Half for what it owns, half for what it counts itself.
            _ => ((room / 2).max(1).saturating_mul(nodes), (room / 2).max(1)),
        }
    }

    /// Transactions in codes, from pass 2 on.
    fn encode(&mut self, large: &Level) {
        if self.ground.coded.is_some() {
            return;
        }
        let codes = Codes::of(large);
        let raw = self.ground.raw.take().expect("they are coded once, or kept");
        let coded = if self.lasting {
            self.ground.raw = Some(raw.clone());
            codes.encode((*raw).clone())
        } else {
            codes.encode(Arc::try_unwrap(raw).unwrap_or_else(|raw| (*raw).clone()))
        };
        // Counts over everything need no duplicates: there is one count of each candidate anyway.
        if matches!(self.giving(), Giving::Occurrences | Giving::Counts(Some(_))) {
            self.ground.duplicated = duplicated(&self.ground.settings, large);
        }
        let blocks = match self.giving() {
            Giving::Counts(Some(most)) => chopped(&coded, most),
            _ => coded.into_blocks().collect(),
        };
        self.ground.coded = Some((codes, blocks));
    }

    /// The candidates of a pass from the second on.
    fn make_space(&mut self, length: usize, levels: &[Level]) {
        let (codes, _) = self.ground.coded.as_ref().expect("it was just coded");
        self.ground.space = if length == 2 {
            Space::pairs(codes.len() as u32, self.room().0)
        } else {
            let mut large = levels[length - 2].clone();
            codes.encode_level(&mut large);
            let slices = Slices::new(large, self.room_of_lists(length));
            Space::List { slices, held: BTreeMap::new() }
        };
    }

    /// What is generated of a slice.
    fn give(&self, slice: usize) -> VecDeque<Phase> {
        let ground = &self.ground;
        let blocks = ground.coded();
        let tiles = tiles(&ground.space, slice, self.room().1);
        let counts = |blocks: std::ops::Range<usize>, least: u32| {
            let phase = move |tile: &super::count::Tile| Phase::Counts {
                slice,
                tile: tile.clone(),
                counter: super::count::Counter::new(&ground.space, slice, tile),
                blocks: blocks.clone(),
                counts: Vec::new(),
                least,
            };
            tiles.iter().map(phase).collect::<Vec<_>>()
        };
        let mut phases: VecDeque<Phase> = match self.giving() {
            Giving::Occurrences => VecDeque::from([Phase::Occurrences { slice, block: 0 }]),
            Giving::Frequent => {
                let least = ground.settings.local_minimum(ground.me);
                counts(0..blocks.len(), u32::try_from(least).unwrap_or(u32::MAX)).into()
            }
            Giving::Counts(most) => chunks(blocks, most.unwrap_or(u64::MAX))
                .into_iter()
                .flat_map(|chunk| counts(chunk, 1))
                .collect(),
        };
        if !ground.duplicates_none() {
            phases.push_back(Phase::named(&ground.space, slice, self.duplicated_numbers(slice), 1));
        }
        phases
    }

    /// Numbers of the candidates of a slice that are counted everywhere.
    fn duplicated_numbers(&self, slice: usize) -> Vec<u32> {
        let (space, mut found) = (&self.ground.space, Vec::new());
        if let Space::Pairs { codes, .. } = space {
            let of = |code: &u32| self.ground.duplicated[*code as usize];
            let frequent: Vec<u32> = (0..*codes).filter(of).collect();
            for (at, low) in frequent.iter().enumerate() {
                found
                    .extend(frequent[at + 1..].iter().filter_map(|high| space.number(slice, &[*low, *high])));
            }
        } else {
            let all = (0..space.size(slice)).map(|number| (number, number));
            space.each(slice, all, |itemset, number| {
                if self.ground.is_duplicated(itemset) {
                    found.push(number);
                }
            });
        }
        found
    }

    /// Sums for a slice.
    fn begin_slice(&mut self, slice: usize) {
        self.slice = slice;
        self.ground.space.hold([slice, self.given_slice]);
        let counted = self.ground.space.length() == 1 || self.giving() != Giving::Frequent;
        if counted {
            self.owned = OwnedCounts::new(&self.ground.space, slice, self.at());
        }
    }

    /// A slice is counted.
    fn end_slice(&mut self, slice: usize) {
        let (at, minimum) = (self.at(), self.ground.settings.derived.minimum);
        if self.ground.space.length() == 1 || self.giving() != Giving::Frequent {
            self.owned.large(&self.ground.space, slice, minimum, at, &mut self.found);
        } else {
            let large = self.asking[slice].large(minimum);
            let found = &mut self.found;
            self.ground
                .space
                .each(slice, large.into_iter(), |itemset, count| found.push(itemset, count.into()));
        }
        if slice + 1 < self.ground.space.slices() {
            self.begin_slice(slice + 1);
        }
    }
}

impl Work for Real {
    fn reset(&mut self) {
        if self.lasting {
            self.ground.coded = None;
        }
        self.phases.clear();
    }

    fn begin(&mut self, pass: u32, levels: &[Level]) -> Option<PassWork> {
        let length = pass as usize;
        if length == 1 {
            self.ground.space = Space::Items;
        } else {
            self.encode(&levels[0]);
            self.make_space(length, levels);
        }
        let slices = self.ground.space.slices();
        if slices == 0 || levels.last().is_some_and(Level::is_empty) {
            return None;
        }
        let nodes = self.ground.settings.nodes();
        let asks = length > 1 && self.giving() == Giving::Frequent;
        self.asking = (0..if asks { slices } else { 0 }).map(|_| Asking::new(nodes)).collect();
        self.asked = vec![vec![Vec::new(); nodes]; self.asking.len()];
        self.found = Level::new(length);
        (self.items, self.counts) = (Vec::new(), Vec::new());
        self.lasts = vec![Vec::new(); nodes];
        self.given_slice = 0;
        self.begin_slice(0);
        let space = &self.ground.space;
        let scans = match (length, self.giving()) {
            (1, _) => 1,
            (_, Giving::Occurrences) => slices as u64,
            _ => (0..slices).map(|slice| tiles(space, slice, self.room().1).len() as u64).sum(),
        };
        let stages = Stages { slices: slices as u32, asks };
        Some(PassWork { candidates: (length > 1).then(|| space.len()), stages, scans })
    }

    fn start(&mut self, stage: Stage) {
        let slice = stage.slice as usize;
        self.given_slice = slice;
        self.ground.space.hold([slice, self.slice]);
        self.phases = match stage.step {
            Step::Give if stage.pass == 1 => {
                VecDeque::from([Phase::Items { block: 0, counts: ItemCounts::default() }])
            }
            Step::Give => self.give(slice),
            Step::Ask => VecDeque::from([Phase::Numbers(self.asking[slice].asks.clone())]),
            Step::Answer => {
                let mut numbers = self.asked[slice].concat();
                numbers.sort_unstable();
                VecDeque::from([Phase::named(&self.ground.space, slice, numbers, 0)])
            }
            Step::Large => VecDeque::from([Phase::Large(self.found.clone())]),
        };
    }

    fn step(&mut self, out: &mut Outbox) -> (Effort, bool) {
        let Some(phase) = self.phases.pop_front() else {
            out.finish(self.ground.order());
            return (Effort::default(), true);
        };
        let (effort, rest) = phase.step(&self.ground, out);
        if let Some(rest) = rest {
            self.phases.push_front(rest);
        }
        (effort, false)
    }

    fn receive(&mut self, from: usize, part: &Part, body: &Body) -> Result<Effort, Malformed> {
        match part.stage.step {
            Step::Give => self.receive_give(from, part, body)?,
            Step::Ask => self.receive_ask(from, part, body)?,
            Step::Answer => self.receive_answer(from, part, body)?,
            Step::Large => self.receive_large(from, part, body)?,
        }
        Ok(Effort { probed: part.entries.into(), ..Effort::default() })
    }

    fn complete(&mut self, stage: Stage) {
        let slice = stage.slice as usize;
        match stage.step {
            Step::Give if !self.asking.is_empty() => {
                let settings = &self.ground.settings;
                let least: Vec<u64> =
                    (0..settings.nodes()).map(|node| settings.local_minimum(node)).collect();
                self.asking[slice].ask(&least, settings.derived.minimum);
            }
            Step::Give | Step::Answer => self.end_slice(slice),
            Step::Ask | Step::Large => {}
        }
    }

    fn level(&mut self) -> Level {
        // The others get it from the journal of levels from now on.
        let (items, counts) = (std::mem::take(&mut self.items), std::mem::take(&mut self.counts));
        let length = self.found.length();
        self.found = Level::new(length);
        let mut level = Level::sorted(length, &items, &counts);
        if let Some((codes, _)) = &self.ground.coded
            && level.length() > 1
        {
            codes.decode(&mut level);
        }
        level
    }

    fn found_bytes(&self) -> usize {
        let all = size_of_val(&self.items[..]) + size_of_val(&self.counts[..]);
        // Others own as many candidates.
        all.max(self.found.bytes() * self.ground.settings.nodes())
    }

    fn transactions(&self) -> u64 {
        self.ground.settings.derived.transactions[self.ground.me]
    }
}
