//! What a stage generates, cut into messages of a block for each node that it goes to. The cuts follow from
//! what is generated, so parts have the same number and content each time.

use super::entries::{put, put_itemset};
use crate::node::settings::Settings;
use crate::node::stage::Stage;
use crate::node::wire::{HEAD, Kind, Part};
use process::Payload;

/// A part, its receivers, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub to: usize,
    pub part: Part,
    pub body: Payload,
    pub padding: u64,
}

#[derive(Debug, Default)]
struct Parcel {
    kind: Option<Kind>,
    body: Vec<u8>,
    zeros: u64,
    entries: u32,
    before: Option<u32>,
    /// Parts before it.
    number: u32,
}

/// A stage on its way out.
#[derive(Debug)]
pub(crate) struct Outbox {
    stage: Stage,
    block: usize,
    padded: bool,
    parcels: Vec<Parcel>,
    /// The nodes that it is generated for.
    wanted: Vec<bool>,
    ready: Vec<Ready>,
}

impl Outbox {
    /// For the nodes that want it.
    pub(crate) fn new(stage: Stage, settings: &Settings, wanted: Vec<bool>) -> Outbox {
        let parcels = wanted.iter().map(|_| Parcel::default()).collect();
        Outbox { stage, block: settings.block, padded: settings.padded, parcels, wanted, ready: Vec::new() }
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// The nodes that it is generated for.
    pub(crate) fn wants(&self, to: usize) -> bool {
        self.wanted[to]
    }

    /// Nodes, those that don't want it included.
    pub(crate) fn nodes(&self) -> usize {
        self.wanted.len()
    }

    /// An itemset, as it was found.
    #[inline]
    pub(crate) fn occurrence(&mut self, to: usize, itemset: &[u32]) {
        if let Some(parcel) = self.parcel(to, Kind::Occurrences, size_of_val(itemset)) {
            itemset.iter().for_each(|word| parcel.body.extend_from_slice(&word.to_le_bytes()));
            parcel.entries += 1;
        }
    }

    /// A candidate's number and its count. Numbers ascend in a part.
    #[inline]
    pub(crate) fn count(&mut self, to: usize, number: u32, count: u32) {
        if self.parcels[to].before.is_some_and(|before| before >= number) && self.wanted[to] {
            self.flush(to, false);
        }
        if let Some(parcel) = self.parcel(to, Kind::Counts, 10) {
            parcel.number_behind(number);
            put(&mut parcel.body, count);
        }
    }

    /// A candidate's number.
    pub(crate) fn number(&mut self, to: usize, number: u32) {
        if let Some(parcel) = self.parcel(to, Kind::Numbers, 5) {
            parcel.number_behind(number);
        }
    }

    /// An itemset and its count.
    pub(crate) fn itemset(&mut self, to: usize, itemset: &[u32], count: u32) {
        if let Some(parcel) = self.parcel(to, Kind::Itemsets, size_of_val(itemset) + 4) {
            put_itemset(&mut parcel.body, itemset, count);
            parcel.entries += 1;
        }
    }

    /// As many things of a kind as are found, of so many bytes each, of which only the length is known.
    pub(crate) fn zeros(&mut self, to: usize, kind: Kind, mut entries: u64, bytes: u64) {
        while entries > 0 {
            let room = (self.block - HEAD) as u64;
            let Some(parcel) = self.parcel(to, kind, bytes as usize) else { return };
            let fit = ((room - parcel.zeros.min(room)) / bytes).clamp(1, entries);
            parcel.zeros += fit * bytes;
            parcel.entries += fit as u32;
            entries -= fit;
        }
    }

    /// The parcel with room for so many bytes more, if somebody wants it.
    fn parcel(&mut self, to: usize, kind: Kind, bytes: usize) -> Option<&mut Parcel> {
        if !self.wanted[to] {
            return None;
        }
        let parcel = &self.parcels[to];
        let full = parcel.len() + bytes > self.block - HEAD && parcel.entries > 0;
        if full || parcel.kind.is_some_and(|other| other != kind) {
            self.flush(to, false);
        }
        let parcel = &mut self.parcels[to];
        parcel.kind = Some(kind);
        Some(parcel)
    }

    fn flush(&mut self, to: usize, last: bool) {
        let stage = self.stage;
        let parcel = &mut self.parcels[to];
        let used = parcel.len();
        let full = if self.padded && parcel.is_padded(stage) { self.block - HEAD } else { 0 };
        let bytes = used.max(full);
        let part = Part {
            kind: parcel.kind.unwrap_or(Kind::Counts),
            stage,
            number: parcel.number,
            last,
            entries: parcel.entries,
            used: used as u32,
            bytes: bytes as u32,
        };
        let body = if parcel.zeros > 0 {
            Payload::Zeros(parcel.zeros)
        } else {
            Payload::from(std::mem::take(&mut parcel.body))
        };
        *parcel = Parcel { number: parcel.number + 1, ..Parcel::default() };
        self.ready.push(Ready { to, part, body, padding: (bytes - used) as u64 });
    }

    /// That was all: the last part for each, which may be empty, in this order.
    pub(crate) fn finish(&mut self, order: impl Iterator<Item = usize>) {
        for to in order {
            if self.wanted[to] {
                self.flush(to, true);
            }
        }
    }

    /// The parts that are whole.
    pub(crate) fn take(&mut self) -> Vec<Ready> {
        std::mem::take(&mut self.ready)
    }

    /// How many parts there were for a node.
    pub(crate) fn parts(&self, to: usize) -> u32 {
        self.parcels[to].number
    }
}

impl Parcel {
    fn len(&self) -> usize {
        self.body.len() + self.zeros as usize
    }

    fn is_padded(&self, stage: Stage) -> bool {
        stage.step == crate::node::stage::Step::Large
    }

    fn number_behind(&mut self, number: u32) {
        put(&mut self.body, number - self.before.unwrap_or(0));
        self.before = Some(number);
        self.entries += 1;
    }
}
