//! What comes to a server: datagrams, the records in them, walkers that are let into the queue or dropped.

use super::Server;
use crate::queue::Cause;
use crate::seal::{GROUP, TAG};
use crate::source::Told;
use crate::wire::packed::Packed;
use crate::wire::{End, HEADER, LONE, Opened, Record, Refused, WalkId, Walker};
use process::{Addr, Context, Train};
use rand::RngExt;
use units::Time;

impl Server {
    pub(super) fn on_train(&mut self, train: &Train<'_>, cx: &mut dyn Context) {
        let now = cx.now();
        let sender = self.servers.iter().position(|server| *server == train.from);
        let (Some(sender), Some(key)) = (sender, self.codec.key.filter(|_| train.segment >= TAG)) else {
            return train.datagrams().for_each(|datagram| self.on_datagram(train.from, datagram, now, cx));
        };
        let from = (train.from, self.codec.lone_header(sender as u16));
        for group in train.data.chunks(GROUP * train.segment) {
            let right = key.are_right(group, train.segment);
            let mut datagrams = group.chunks_exact(train.segment);
            for (datagram, right) in (&mut datagrams).zip(right) {
                self.on_known(from, datagram, right, now, cx);
            }
            if !datagrams.remainder().is_empty() {
                self.on_datagram(train.from, datagrams.remainder(), now, cx);
            }
        }
    }

    /// A datagram from the address of a server, whose tag is right or not.
    #[inline(always)]
    fn on_known(
        &mut self,
        (from, header): (Addr, [u64; HEADER / 8]),
        datagram: &[u8],
        right: bool,
        now: Time,
        cx: &mut dyn Context,
    ) {
        let lone = datagram.as_array::<LONE>().filter(|_| right);
        match lone.and_then(|lone| Packed::read_alone(header, lone)) {
            Some(walker) => {
                self.received();
                self.on_packed(walker, now, cx);
            }
            None => {
                let opened = self.codec.open(datagram, Some(right));
                self.on_opened(from, opened, now, cx);
            }
        }
    }

    #[inline(always)]
    fn received(&mut self) {
        self.board.counters.received_datagrams.add(1);
        self.owed += self.costs.datagram;
    }

    #[inline(always)]
    fn on_packed(&mut self, walker: Packed, now: Time, cx: &mut dyn Context) {
        let own = self.territory.part.owns(walker.at()) && !self.settings.derived.paths;
        if own & self.may_be(walker.source(), walker.start(), walker.steps()) {
            self.counters().arrived.add(1);
            self.enqueue_packed(walker, now, cx);
        } else {
            self.counters().refused_records.add(1);
        }
    }

    fn on_walker(&mut self, walker: Walker, now: Time, cx: &mut dyn Context) {
        if self.is_sound(&walker) {
            self.counters().arrived.add(1);
            self.enqueue(walker, now, cx);
        } else {
            self.counters().refused_records.add(1);
        }
    }

    pub(super) fn on_datagram(&mut self, from: Addr, datagram: &[u8], now: Time, cx: &mut dyn Context) {
        let opened = self.codec.open(datagram, None);
        self.on_opened(from, opened, now, cx);
    }

    fn on_opened(
        &mut self,
        from: Addr,
        opened: Result<Opened<'_>, Refused>,
        now: Time,
        cx: &mut dyn Context,
    ) {
        let read = match opened {
            Ok(opened) if self.servers.get(usize::from(opened.from)) == Some(&from) => {
                self.on_records(&opened, now, cx)
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
        if let Some(walkers) = opened.walkers() {
            walkers.for_each(|walker| self.on_packed(walker, now, cx));
        } else if let Some(ends) = opened.ends() {
            ends.for_each(|end| self.on_end(end.view(), now));
        } else {
            let mut records = std::mem::take(&mut self.records);
            let read = opened.records(&mut records);
            records.drain(..).for_each(|record| self.on_record(record, now, cx));
            self.records = records;
            read?;
        }
        Ok(())
    }

    #[inline(always)]
    fn on_end(&mut self, ended: End<'_>, now: Time) {
        if ended.end < self.territory.part.nodes() && ended.steps <= self.settings.steps_max {
            self.source.ended(now, ended, &self.board.counters);
        } else {
            self.counters().refused_records.add(1);
        }
    }

    #[inline]
    fn on_record(&mut self, record: Record, now: Time, cx: &mut dyn Context) {
        match record {
            Record::Walker(walker) => self.on_walker(walker, now, cx),
            Record::Ended(ended) => self.on_end(ended.view(), now),
            Record::Dropped(id) => self.source.dropped(&id, Told::ByAnother, &self.board.counters),
        }
    }

    /// Whether there can be such a walker: from a server, of a node, with so many steps.
    #[inline(always)]
    fn may_be(&self, source: u16, start: u32, steps: u32) -> bool {
        (usize::from(source) < self.servers.len())
            & (steps <= self.settings.steps_max)
            & (start < self.territory.part.nodes())
    }

    /// Whether a walker can be served here, as far as this server can know.
    fn is_sound(&self, walker: &Walker) -> bool {
        let nodes = self.territory.part.nodes();
        let exists = |node: &u32| *node < nodes;
        self.may_be(walker.source, walker.id.start, walker.steps)
            && walker.previous.as_ref().is_none_or(exists)
            && walker.candidate.as_ref().is_none_or(exists)
            && walker.path.is_empty() != self.settings.derived.paths
            && walker.path.iter().all(exists)
            && self.territory.takes(walker)
    }

    pub(super) fn enqueue(&mut self, walker: Walker, now: Time, cx: &mut dyn Context) {
        match self.queue.admit(now, || cx.rng().random()) {
            Ok(()) => self.queue.push(now, walker),
            Err(cause) => self.discard(cause, &walker.id, walker.source),
        }
    }

    #[inline(always)]
    pub(super) fn enqueue_packed(&mut self, walker: Packed, now: Time, cx: &mut dyn Context) {
        match self.queue.admit(now, || cx.rng().random()) {
            Ok(()) => self.queue.push_packed(now, walker),
            Err(cause) => self.discard(cause, &walker.id(), walker.source()),
        }
    }

    /// A walker is dropped: its source is told at once if it is here, and elsewhere if that is asked for.
    #[cold]
    pub(super) fn discard(&mut self, cause: Cause, id: &WalkId, source: u16) {
        let counters = &self.board.counters;
        match cause {
            Cause::Early => counters.drops_early.add(1),
            Cause::Forced => counters.drops_forced.add(1),
            Cause::Full => counters.drops_full.add(1),
            Cause::Wait => counters.drops_wait.add(1),
        }
        self.owed += self.costs.drop;
        let is_own = source == self.codec.server;
        counters.drops_own.add(u64::from(is_own));
        if is_own && self.settings.loss.direct {
            self.source.dropped(id, Told::Here, counters);
        } else if !is_own && self.settings.loss.remote {
            self.outbox.push(source, &Record::Dropped(*id));
        }
    }
}
