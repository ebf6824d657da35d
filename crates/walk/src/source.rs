//! The source side of a server: its start nodes' walks, generated, watched and counted (document 000, *RG*).

use crate::counters::Counters;
use crate::generator::Generator;
use crate::ledger::{Ledger, Next, SnapshotError, Worth};
use crate::loss::Watch;
use crate::settings::Settings;
use crate::sink::{FinishedWalk, Sink};
use crate::store;
use crate::territory::Territory;
use crate::wire::packed::Packed;
use crate::wire::{End, WalkId};
use units::Time;

/// How a source learned that a walker was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It was dropped here.
    Here,
    /// Another server said so.
    ByAnother,
}

pub(crate) struct Source {
    pub ledger: Ledger,
    pub watch: Watch,
    pub generator: Generator,
    sink: Box<dyn Sink>,
    server: u16,
    /// This life.
    epoch: u16,
    /// A drop has been told of since the last check.
    told: bool,
    regenerates: bool,
}

impl Source {
    pub(crate) fn new(settings: &Settings, starts: Vec<u32>, server: u16, sink: Box<dyn Sink>) -> Source {
        Source {
            ledger: Ledger::new(starts, settings.walks, settings.loss.attempts, settings.regenerate),
            watch: Watch::new(settings.loss),
            generator: Generator::new(settings.generation),
            sink,
            server,
            epoch: 0,
            told: false,
            regenerates: settings.regenerate,
        }
    }

    /// Looks for losses; says whether there is one to slow down for.
    pub(crate) fn check(&mut self, now: Time, counters: &Counters) -> bool {
        let (lost, signal) = self.watch.check(now, &mut self.ledger);
        counters.lost_timeout.add(lost);
        self.count_given_up(counters);
        signal | std::mem::take(&mut self.told)
    }

    /// Whether another check at the same time would find no loss, and leave the generator as it is.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        !self.told && self.generator.is_calm()
    }

    /// Whether [`Source::next`] may have something.
    pub(crate) fn has_next(&self) -> bool {
        self.ledger.has_next() && self.generator.room(self.ledger.under_way()) > 0
    }

    /// The walks that are due next and may set out, at most `most`: [`Source::walkers`] are their walkers.
    pub(crate) fn next(&mut self, most: u32) -> Option<Next> {
        let room = self.generator.room(self.ledger.under_way());
        self.ledger.next(room.min(most.into()) as u32)
    }

    /// The walkers of walks, as they set out at a time.
    #[inline(always)]
    pub(crate) fn walkers(
        &self,
        next: Next,
        now: Time,
        territory: &Territory,
    ) -> impl Iterator<Item = Packed> {
        let (attempt, epoch, born_ns) = (next.attempt, self.epoch, now.as_ps() / 1000);
        self.ledger.walks(next.first).take(next.count as usize).map(move |(start, number)| {
            let id = WalkId { start, number, attempt, epoch, born_ns };
            Packed::new(&id, self.server, territory.stream(&id).0)
        })
    }

    /// The first `count` of walks have set out.
    pub(crate) fn begin(&mut self, now: Time, next: Next, count: u32, counters: &Counters) {
        self.ledger.begin(next, count);
        self.watch.born(now, next.first, count, next.attempt);
        counters.generated.add(count.into());
        counters.additional.set(self.ledger.additional());
    }

    /// A walk has ended, and this source is told of it.
    #[inline(always)]
    pub(crate) fn ended(&mut self, now: Time, ended: End<'_>, counters: &Counters) {
        let id = ended.id;
        let Some(entry) = self.ledger.entry(id.start, id.number) else {
            return counters.refused_records.add(1);
        };
        let mine = id.epoch == self.epoch;
        let worth = self.ledger.end(entry, if mine { id.attempt } else { 0 });
        match worth {
            Worth::Finished | Worth::Late => {
                counters.finished.add(1);
                counters.late.add(u64::from(worth == Worth::Late));
                self.count_given_up(counters);
                let End { end, steps, path, .. } = ended;
                self.sink.finished(&FinishedWalk { start: id.start, number: id.number, end, steps, path });
            }
            Worth::Again => counters.again.add(1),
            Worth::Unknown => return counters.refused_records.add(1),
        }
        let born = Time::from_ns(id.born_ns.min(u64::MAX / 1000));
        if mine && born <= now {
            self.watch.confirmed(now.saturating_sub(born));
        }
    }

    /// A walker was dropped, and this source is told of it.
    pub(crate) fn dropped(&mut self, id: &WalkId, told: Told, counters: &Counters) {
        let Some(entry) = self.ledger.entry(id.start, id.number) else {
            return counters.refused_records.add(1);
        };
        if id.epoch == self.epoch && self.ledger.lose(entry, id.attempt) {
            self.told = true;
            match told {
                Told::Here => counters.lost_direct.add(1),
                Told::ByAnother => counters.lost_remote.add(1),
            }
        }
    }

    /// Where lost walks are not to be generated again, none of them is a failure.
    fn count_given_up(&self, counters: &Counters) {
        if self.regenerates {
            counters.given_up.set(self.ledger.given_up());
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<u8> {
        store::encode(self.epoch, &self.ledger, &*self.sink)
    }

    /// Begins a life, after `lives` elsewhere: with what a journal says, or again. Says whether it could be
    /// read.
    pub(crate) fn live(
        &mut self,
        journal: Option<&[u8]>,
        lives: u16,
        settings: &Settings,
    ) -> Result<(), SnapshotError> {
        self.ledger = self.ledger.renewed();
        self.watch = Watch::new(settings.loss);
        self.generator = Generator::new(settings.generation);
        self.told = false;
        self.epoch = self.epoch.max(lives).wrapping_add(1);
        let restored = match journal {
            Some(journal) => store::decode(journal, &mut self.ledger, &mut *self.sink).map(Some),
            None => Ok(None),
        };
        match restored {
            Ok(Some(wrote)) => self.epoch = self.epoch.max(wrote.wrapping_add(1)),
            _ => drop(self.sink.restore(None)),
        }
        restored.map(drop)
    }
}
