//! What comes to a server: datagrams, the records in them, walkers that are let into the queue or dropped.

use super::Server;
use crate::queue::Cause;
use crate::source::Told;
use crate::wire::lone::{self, LONE, Lone};
use crate::wire::{Opened, Record, Refused, Walker};
use process::{Addr, Context, Train};
use rand::RngExt;
use units::Time;

impl Server {
    pub(super) fn on_train(&mut self, train: &Train<'_>, cx: &mut dyn Context) {
        let now = cx.now();
        let sender = self.servers.iter().position(|server| *server == train.from);
        match (sender, self.codec.key) {
            (Some(sender), Some(key)) if train.segment == LONE => {
                let header = self.codec.lone_header(sender as u16);
                let (lones, rest) = train.data.as_chunks::<LONE>();
                let (pairs, last) = lones.as_chunks::<2>();
                for pair in pairs {
                    let read = lone::read(&key, header, pair.each_ref());
                    read.into_iter().zip(pair).for_each(|(walker, lone)| {
                        self.on_lone(train.from, walker, lone, now, cx);
                    });
                }
                let others = last.iter().map(|lone| &lone[..]).chain((!rest.is_empty()).then_some(rest));
                others.for_each(|datagram| self.on_datagram(train.from, datagram, now, cx));
            }
            _ => {
                let datagrams = train.datagrams();
                datagrams.for_each(|datagram| self.on_datagram(train.from, datagram, now, cx));
            }
        }
    }

    /// A datagram of the common form, if its walker could be read.
    #[inline(always)]
    fn on_lone(&mut self, from: Addr, walker: Option<Walker>, lone: &Lone, now: Time, cx: &mut dyn Context) {
        match walker {
            Some(walker) => {
                self.received();
                self.on_walker(walker, now, cx);
            }
            None => self.on_datagram(from, lone, now, cx),
        }
    }

    #[inline(always)]
    fn received(&mut self) {
        self.board.counters.received_datagrams.add(1);
        self.owed += self.costs.datagram;
    }

    #[inline(always)]
    fn on_walker(&mut self, walker: Walker, now: Time, cx: &mut dyn Context) {
        if self.is_sound(&walker) {
            self.counters().arrived.add(1);
            self.enqueue(walker, now, cx);
        } else {
            self.counters().refused_records.add(1);
        }
    }

    pub(super) fn on_datagram(&mut self, from: Addr, datagram: &[u8], now: Time, cx: &mut dyn Context) {
        let read = match self.codec.open(datagram) {
            Ok(opened) if self.servers.get(usize::from(opened.from)) == Some(&from) => {
                match opened.single() {
                    Some(read) => read.map(|record| self.on_record(record, now, cx)),
                    None => self.on_records(&opened, now, cx),
                }
            }
            Ok(_) => Err(Refused::Tag),
            Err(refused) => Err(refused),
        };
        match read {
            Ok(()) => self.received(),
            Err(Refused::Tag) => self.counters().refused_strangers.add(1),
            Err(_) => self.counters().refused_datagrams.add(1),
        }
    }

    fn on_records(&mut self, opened: &Opened<'_>, now: Time, cx: &mut dyn Context) -> Result<(), Refused> {
        let mut records = std::mem::take(&mut self.records);
        let read = opened.records(&mut records);
        records.drain(..).for_each(|record| self.on_record(record, now, cx));
        self.records = records;
        read
    }

    #[inline]
    fn on_record(&mut self, record: Record, now: Time, cx: &mut dyn Context) {
        match record {
            Record::Walker(walker) => self.on_walker(walker, now, cx),
            Record::Ended(ended)
                if ended.end < self.territory.part.nodes() && ended.steps <= self.settings.steps_max =>
            {
                self.source.ended(now, &ended, &self.board.counters);
            }
            Record::Ended(_) => self.counters().refused_records.add(1),
            Record::Dropped(id) => self.source.dropped(&id, Told::ByAnother, &self.board.counters),
        }
    }

    /// Whether a walker can be served here, as far as this server can know.
    #[inline]
    fn is_sound(&self, walker: &Walker) -> bool {
        let nodes = self.territory.part.nodes();
        let exists = |node: &u32| *node < nodes;
        usize::from(walker.source) < self.servers.len()
            && walker.steps <= self.settings.steps_max
            && exists(&walker.id.start)
            && walker.previous.as_ref().is_none_or(exists)
            && walker.candidate.as_ref().is_none_or(exists)
            && walker.path.is_empty() != self.settings.paths
            && walker.path.iter().all(exists)
            && self.territory.takes(walker)
    }

    #[inline]
    pub(super) fn enqueue(&mut self, walker: Walker, now: Time, cx: &mut dyn Context) {
        match self.queue.admit(now, || cx.rng().random()) {
            Ok(()) => self.queue.push(now, walker),
            Err(cause) => self.discard(cause, &walker),
        }
    }

    /// A walker is dropped: its source is told at once if it is here, and elsewhere if that is asked for.
    pub(super) fn discard(&mut self, cause: Cause, walker: &Walker) {
        let counters = &self.board.counters;
        match cause {
            Cause::Early => counters.drops_early.add(1),
            Cause::Forced => counters.drops_forced.add(1),
            Cause::Full => counters.drops_full.add(1),
            Cause::Wait => counters.drops_wait.add(1),
        }
        self.owed += self.costs.drop;
        let is_own = walker.source == self.codec.server;
        counters.drops_own.add(u64::from(is_own));
        if is_own && self.settings.loss.direct {
            self.source.dropped(&walker.id, Told::Here, counters);
        } else if !is_own && self.settings.loss.remote {
            self.outbox.push(walker.source, &Record::Dropped(walker.id));
        }
    }
}
