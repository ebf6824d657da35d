//! What waits to be sent, by receiver: one record a datagram as in the document, or as many as are allowed and fit.
//!
//! Datagrams for the same receiver leave one after the other, so that a driver may hand them to the kernel as one.

use crate::counters::Counters;
use crate::wire::{Codec, Record};
use process::{Addr, Context, Payload};

/// How records share datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSettings {
    /// Most records in a datagram.
    pub records: usize,
    /// Most bytes in a datagram, UDP and IP headers not counted.
    pub bytes: usize,
    /// With more than one record: how long one waits for others while the server is busy.
    pub linger: units::Time,
}

impl Default for DatagramSettings {
    /// The document's one walker a datagram; what fits an Ethernet frame.
    fn default() -> DatagramSettings {
        DatagramSettings { records: 1, bytes: 1472, linger: units::Time::ZERO }
    }
}

/// Records for one receiver.
#[derive(Debug, Default)]
struct Tray {
    records: Vec<Record>,
    bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Outbox {
    settings: DatagramSettings,
    codec: Codec,
    /// The port that all servers use on this host.
    port: u16,
    peers: Vec<Addr>,
    trays: Vec<Tray>,
    /// Receivers for whom something waits.
    waiting: Vec<u16>,
}

impl Outbox {
    pub(crate) fn new(settings: DatagramSettings, codec: Codec, port: u16, peers: Vec<Addr>) -> Outbox {
        let trays = peers.iter().map(|_| Tray::default()).collect();
        Outbox { settings, codec, port, peers, trays, waiting: Vec::new() }
    }

    /// Forgets what waits.
    pub(crate) fn clear(&mut self) {
        self.trays.iter_mut().for_each(|tray| *tray = Tray::default());
        self.waiting.clear();
    }

    /// Adds a record for server `to`; says whether a datagram is full.
    pub(crate) fn push(&mut self, to: u16, record: Record) -> bool {
        let tray = &mut self.trays[usize::from(to)];
        if tray.records.is_empty() {
            self.waiting.push(to);
        }
        tray.bytes += record.bytes();
        tray.records.push(record);
        let room = self.settings.bytes.saturating_sub(self.codec.overhead());
        tray.records.len() >= self.settings.records || tray.bytes >= room
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends all that waits, or what fills datagrams.
    pub(crate) fn flush(&mut self, all: bool, counters: &Counters, cx: &mut dyn Context) {
        let room = self.settings.bytes.saturating_sub(self.codec.overhead());
        self.waiting.retain(|&to| {
            let tray = &mut self.trays[usize::from(to)];
            let mut rest = &tray.records[..];
            while !rest.is_empty() {
                let (n, full) = fill(rest, self.settings.records, room);
                if !full && !all {
                    break;
                }
                let datagram = self.codec.encode(&rest[..n]);
                counters.sent_datagrams.add(1);
                counters.sent_bytes.add(datagram.len() as u64);
                cx.send(self.port, self.peers[usize::from(to)], Payload::from(datagram));
                rest = &rest[n..];
            }
            let sent = tray.records.len() - rest.len();
            tray.bytes -= tray.records.drain(..sent).map(|record| record.bytes()).sum::<usize>();
            !tray.records.is_empty()
        });
    }
}

/// How many of `records` share a datagram, and whether no other would fit. One goes out even if it is too long: then
/// the network says so.
fn fill(records: &[Record], most: usize, room: usize) -> (usize, bool) {
    let mut bytes = 0;
    for (n, record) in records.iter().enumerate() {
        bytes += record.bytes();
        if n > 0 && (bytes > room || n >= most) {
            return (n, true);
        }
    }
    (records.len(), records.len() >= most || bytes >= room)
}
