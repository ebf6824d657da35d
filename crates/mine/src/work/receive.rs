//! What comes of other nodes, checked before it is counted: every byte is hostile.

use super::entries;
use super::real::{Giving, Real};
use super::space::owner;
use crate::node::link::Body;
use crate::node::wire::{Kind, Part};
use process::wire::Malformed;

impl Real {
    /// Counts that came in a part, if they can be.
    fn given(&self, from: usize, part: &Part, body: &Body) -> Result<Vec<(u32, u32)>, Malformed> {
        let used = body.data.get(..part.used as usize).ok_or(Malformed)?;
        let length = self.ground.space().length();
        let slice = part.stage.slice as usize;
        match part.kind {
            Kind::Occurrences if self.giving() == Giving::Occurrences && length > 1 => {
                let words = entries::words(used, part.entries, length)?;
                let number = |itemset: &[u32]| self.ground.space().number(slice, itemset).ok_or(Malformed);
                words.chunks_exact(length).map(|itemset| Ok((number(itemset)?, 1))).collect()
            }
            Kind::Counts => {
                let counts = entries::numbers(used, part.entries, true)?;
                let most = self.ground.settings.derived.transactions[from];
                let can_be = |count: u32| (1..=most).contains(&u64::from(count));
                if counts.iter().all(|(_, count)| can_be(*count)) { Ok(counts) } else { Err(Malformed) }
            }
            _ => Err(Malformed),
        }
    }

    pub(super) fn receive_give(&mut self, from: usize, part: &Part, body: &Body) -> Result<(), Malformed> {
        let counts = self.given(from, part, body)?;
        let at = self.at();
        if part.stage.pass == 1 || self.giving() != Giving::Frequent {
            return self.owned.add(&counts, at);
        }
        let slice = part.stage.slice as usize;
        let least = self.ground.settings.local_minimum(from);
        let size = self.ground.space().size(slice);
        let can_be = |number: u32, count: u32| {
            number < size && owner(number, at.1) == at.0 && u64::from(count) >= least
        };
        if !counts.iter().all(|(number, count)| can_be(*number, *count)) {
            return Err(Malformed);
        }
        self.asking[slice].give(from, counts)
    }

    pub(super) fn receive_ask(&mut self, from: usize, part: &Part, body: &Body) -> Result<(), Malformed> {
        let used = body.data.get(..part.used as usize).ok_or(Malformed)?;
        let numbers = entries::numbers(used, part.entries, false)?;
        let slice = part.stage.slice as usize;
        let (size, nodes) = (self.ground.space().size(slice), self.ground.settings.nodes());
        let asked = &mut self.asked[slice][from];
        let before = asked.last().copied();
        let mut all = numbers.iter().map(|(number, _)| *number);
        let first = numbers.first().map(|(number, _)| *number);
        let again = before.zip(first).is_some_and(|(before, first)| first <= before);
        if again || all.any(|number| number >= size || owner(number, nodes) != from) {
            return Err(Malformed);
        }
        asked.extend(numbers.into_iter().map(|(number, _)| number));
        Ok(())
    }

    pub(super) fn receive_answer(&mut self, from: usize, part: &Part, body: &Body) -> Result<(), Malformed> {
        let used = body.data.get(..part.used as usize).ok_or(Malformed)?;
        let counts = entries::numbers(used, part.entries, true)?;
        let least = self.ground.settings.local_minimum(from);
        if counts.iter().any(|(_, count)| u64::from(*count) >= least) {
            return Err(Malformed);
        }
        let asking = &mut self.asking[part.stage.slice as usize];
        asking.answer(from, &counts)?;
        if part.last && !asking.is_answered(from) { Err(Malformed) } else { Ok(()) }
    }

    pub(super) fn receive_large(&mut self, from: usize, part: &Part, body: &Body) -> Result<(), Malformed> {
        let used = body.data.get(..part.used as usize).ok_or(Malformed)?;
        let length = self.ground.space().length();
        let words = entries::words(used, part.entries, length + 1)?;
        let (_, nodes) = self.at();
        let counts = self.ground.settings.derived.minimum..=self.ground.settings.total();
        let mut last = &self.lasts[from][..];
        for row in words.chunks_exact(length + 1) {
            let (itemset, count) = row.split_at(length);
            let said = self.ground.space().is_said_by(itemset, from, nodes);
            if !said || !counts.contains(&u64::from(count[0])) || last >= itemset {
                return Err(Malformed);
            }
            last = itemset;
        }
        self.lasts[from] = last.to_vec();
        for row in words.chunks_exact(length + 1) {
            self.items.extend_from_slice(&row[..length]);
            self.counts.push(row[length].into());
        }
        Ok(())
    }
}
