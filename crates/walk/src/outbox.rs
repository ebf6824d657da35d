//! What waits to be sent, by receiver: one walker a datagram as in the document, or as many as are allowed
//! and fit.
//!
//! Records are written into their datagram when they come; datagrams for one receiver lie behind one another
//! and leave together, those of one length as a train, so that a driver may hand them to the kernel as one.
//! What is said of walks (that they have ended, or were dropped) is no walker: where nothing has to wait for
//! others, such notices share datagrams of their own, so that walkers' datagrams have one length.

use crate::counters::Counters;
use crate::wire::packed::{Packed, PackedEnd};
use crate::wire::{Codec, ENDED, HEADER, LONE, Record, WALKER, Walker};
use process::{Addr, Context};
use serde::{Deserialize, Serialize};

/// How records share datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatagramSettings {
    /// Most walkers in a datagram.
    pub walkers: u32,
    /// With more than one walker: how long one waits for others while the server is busy.
    pub linger: units::Time,
}

impl Default for DatagramSettings {
    /// The document's one walker a datagram.
    fn default() -> DatagramSettings {
        DatagramSettings { walkers: 1, linger: units::Time::ZERO }
    }
}

/// Notices in a datagram of their own, and its bytes: what fits an Ethernet frame, whatever walkers are
/// allowed.
const NOTICES: (usize, usize) = (u16::MAX as usize, 1472);

/// Datagrams for one receiver.
#[derive(Debug, Default)]
struct Tray {
    /// All of them, without tags; the last one may still be open.
    data: Vec<u8>,
    /// Closed ones, by length: so many bytes in all of datagrams of so many each.
    trains: Vec<(usize, usize)>,
    /// Bytes of closed ones.
    closed: usize,
    /// Records in the open one.
    count: usize,
}

impl Tray {
    /// Adds a record of `length` bytes.
    #[inline(always)]
    fn push(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut Vec<u8>),
        (most, bytes): (usize, usize),
        codec: &Codec,
    ) {
        let room = bytes.saturating_sub(codec.overhead());
        // One goes out even if it is too long: then the network says so.
        if self.count > 0 && self.written() + length > room {
            self.close(codec);
        }
        if self.count == 0 {
            codec.begin(&mut self.data);
        }
        write(&mut self.data);
        self.count += 1;
        if self.count >= most || self.written() >= room {
            self.close(codec);
        }
    }

    /// Bytes of records in the open datagram.
    fn written(&self) -> usize {
        (self.data.len() - self.closed).saturating_sub(HEADER)
    }

    /// Adds a walker alone in its datagram, under a key, if none is open.
    #[inline(always)]
    fn push_lone(&mut self, header: [u64; HEADER / 8], walker: Packed) -> bool {
        let whole = self.count == 0;
        if whole {
            walker.write_alone(header, &mut self.data);
            self.noted();
        }
        whole
    }

    fn close(&mut self, codec: &Codec) {
        codec.end(&mut self.data, self.closed, self.count as u16);
        self.noted();
    }

    /// A datagram has become whole.
    #[inline(always)]
    fn noted(&mut self) {
        let length = self.data.len() - self.closed;
        match self.trains.last_mut() {
            Some((bytes, each)) if *each == length => *bytes += length,
            _ => self.trains.push((length, length)),
        }
        (self.closed, self.count) = (self.data.len(), 0);
    }

    /// Sends what is closed.
    fn send(&mut self, (port, to): (u16, Addr), codec: &Codec, counters: &Counters, cx: &mut dyn Context) {
        let mut rest = &mut self.data[..self.closed];
        for (bytes, each) in self.trains.drain(..) {
            let (train, behind) = rest.split_at_mut(bytes);
            codec.seal(train, each);
            counters.sent_datagrams.add((bytes / each) as u64);
            counters.sent_bytes.add(bytes as u64);
            cx.send_train(port, to, train, each);
            rest = behind;
        }
        self.data.drain(..self.closed);
        self.closed = 0;
    }
}

/// What waits for one receiver.
#[derive(Debug, Default)]
struct Trays {
    walkers: Tray,
    notices: Tray,
}

impl Trays {
    /// Notes that something waits here from now on.
    #[inline]
    fn woken(&mut self, to: u16, waiting: &mut Vec<u16>) -> &mut Trays {
        if self.is_empty() {
            waiting.push(to);
        }
        self
    }

    fn is_empty(&self) -> bool {
        self.walkers.data.is_empty() && self.notices.data.is_empty()
    }
}

#[derive(Debug)]
pub(crate) struct Outbox {
    /// Most records in a datagram of walkers.
    records: usize,
    /// Most bytes in a datagram.
    bytes: usize,
    linger: units::Time,
    codec: Codec,
    /// Of a walker alone.
    header: [u64; HEADER / 8],
    /// The port that all servers use on this host.
    port: u16,
    peers: Vec<Addr>,
    trays: Vec<Trays>,
    /// Receivers for which something waits.
    waiting: Vec<u16>,
}

impl Outbox {
    /// Datagrams have up to `bytes` bytes, UDP and IP headers not counted.
    pub(crate) fn new(
        settings: DatagramSettings,
        bytes: usize,
        codec: Codec,
        port: u16,
        peers: Vec<Addr>,
    ) -> Outbox {
        let DatagramSettings { walkers, linger } = settings;
        let trays = peers.iter().map(|_| Trays::default()).collect();
        let header = codec.lone_header(codec.server);
        Outbox {
            records: walkers as usize,
            bytes,
            linger,
            codec,
            header,
            port,
            peers,
            trays,
            waiting: Vec::new(),
        }
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        self.trays.iter_mut().for_each(|trays| *trays = Trays::default());
        self.waiting.clear();
    }

    /// Adds a record for server `to`.
    pub(crate) fn push(&mut self, to: u16, record: &Record) {
        match record {
            Record::Walker(walker) => self.push_walker(to, walker),
            notice => self.put_notice(to, notice.bytes(), |out| notice.write(out)),
        }
    }

    /// Adds a walker for server `to`.
    fn push_walker(&mut self, to: u16, walker: &Walker) {
        self.put_walker(to, walker.bytes(), |out| walker.write(out));
    }

    /// Adds a walker that carries nothing more than all do.
    #[inline]
    pub(crate) fn push_packed(&mut self, to: u16, walker: Packed) {
        let Outbox { records, bytes, .. } = *self;
        if (records, self.codec.key.is_some(), bytes >= LONE) == (1, true, true) {
            let Outbox { trays, waiting, header, .. } = self;
            let trays = trays[usize::from(to)].woken(to, waiting);
            if trays.walkers.push_lone(*header, walker) {
                return;
            }
        }
        self.put_walker(to, WALKER, |out| walker.write(out));
    }

    #[inline(always)]
    fn put_walker(&mut self, to: u16, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Outbox { records, bytes, .. } = *self;
        let Outbox { trays, waiting, codec, .. } = self;
        let trays = trays[usize::from(to)].woken(to, waiting);
        trays.walkers.push(length, write, (records, bytes), codec);
    }

    /// Adds the end of a walk of server `to`, which has no path.
    #[inline]
    pub(crate) fn push_end(&mut self, to: u16, end: PackedEnd) {
        self.put_notice(to, ENDED, |out| end.write(out));
    }

    #[inline(always)]
    fn put_notice(&mut self, to: u16, length: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Outbox { records, bytes, linger, .. } = *self;
        let Outbox { trays, waiting, codec, .. } = self;
        let Trays { walkers, notices } = trays[usize::from(to)].woken(to, waiting);
        // What lingers leaves sooner when everything shares a datagram.
        if linger > units::Time::ZERO {
            walkers.push(length, write, (records, bytes), codec);
        } else {
            notices.push(length, write, (NOTICES.0, bytes.min(NOTICES.1)), codec);
        }
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes that wait.
    pub(crate) fn bytes(&self) -> usize {
        let trays = self.waiting.iter().map(|to| &self.trays[usize::from(*to)]);
        trays.map(|trays| trays.walkers.data.len() + trays.notices.data.len()).sum()
    }

    /// Sends all that waits, or what fills datagrams.
    pub(crate) fn flush(&mut self, all: bool, counters: &Counters, cx: &mut dyn Context) {
        self.waiting.retain(|&to| {
            let path = (self.port, self.peers[usize::from(to)]);
            let Trays { walkers, notices } = &mut self.trays[usize::from(to)];
            for tray in [walkers, notices] {
                if all && tray.count > 0 {
                    tray.close(&self.codec);
                }
                tray.send(path, &self.codec, counters, cx);
            }
            !self.trays[usize::from(to)].is_empty()
        });
    }
}
