//! Datagrams: one packet each, lost or delivered.

use crate::body::{Body, DATAGRAM, Extra};
use crate::records::HostDrops;
use crate::run::Sim;
use fabric::{Discard, Ecn, NodeId, Packet, PortId};
use process::{Addr, Event, HostId, Payload};
use transport::tcp::Header;

/// IP protocol number of UDP.
const UDP: u8 = 17;

/// Totals of the datagrams of one job between two hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub job: u32,
    pub from: u32,
    pub to: u32,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    pub drops: HostDrops,
}

impl Pair {
    /// Adds what another part has counted.
    pub(crate) fn add(&mut self, other: &Pair) {
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.received_packets += other.received_packets;
        self.received_bytes += other.received_bytes;
        self.drops.no_route += other.drops.no_route;
        self.drops.down += other.drops.down;
        self.drops.no_port += other.drops.no_port;
    }
}

impl Sim {
    /// Sends a datagram of `process` from its local `port`.
    pub(crate) fn send_datagram(&mut self, process: u32, port: u16, to: Addr, data: Payload) {
        let slot = &self.processes[process as usize];
        let (job, host) = (slot.job, slot.host);
        let bytes = data.len() + u64::from(transport::UDP_HEADERS);
        let pair = self.pair(job, host, to.host.0);
        let totals = &mut self.pairs[pair as usize];
        totals.sent_packets += 1;
        totals.sent_bytes += bytes;
        let (from_node, to_node) = (NodeId(host), NodeId(to.host.0));
        let home = self.jobs[job as usize].home_port;
        let hash = self.net.fabric.flow_hash(from_node, to_node, home, home, UDP);
        let Some((out, route)) = self.net.fabric.route(from_node, to_node, hash) else {
            self.pairs[pair as usize].drops.no_route += 1;
            self.net.hosts[host as usize].drops.no_route += 1;
            return;
        };
        let from = Addr { host: HostId(host), port };
        let extra = self.net.extras.insert(Extra::Datagram { from, to, data, pair }) + 1;
        let packet = Packet {
            route,
            bytes: bytes.min(u64::from(u16::MAX)) as u16,
            hash,
            class: self.jobs[job as usize].class,
            ecn: Ecn::NotEct,
            body: Body { header: Header::default(), to: DATAGRAM, extra },
        };
        if bytes > u64::from(self.net.hosts[host as usize].config.mtu) {
            // As a socket with "don't fragment": it does not leave the host.
            return self.net.fabric.discard(self.net.now, out, &packet, Discard::Mtu, &mut self.net.outside);
        }
        if self.skip.is_some() {
            return self.hold(out, packet);
        }
        self.net.fabric.enqueue(self.net.now, PortId::NONE, out, &packet, &mut self.net.outside);
    }

    pub(crate) fn pair(&mut self, job: u32, from: u32, to: u32) -> u32 {
        let pairs = &mut self.pairs;
        *self.pair_of.entry((job, from, to)).or_insert_with(|| {
            let (sent_packets, sent_bytes, received_packets, received_bytes) = (0, 0, 0, 0);
            let drops = HostDrops::default();
            pairs.push(Pair {
                job,
                from,
                to,
                sent_packets,
                sent_bytes,
                received_packets,
                received_bytes,
                drops,
            });
            pairs.len() as u32 - 1
        })
    }

    /// A datagram has come to its host.
    pub(crate) fn on_datagram(&mut self, packet: &Packet<Body>) {
        let Some(Extra::Datagram { to, .. }) = self.net.extras.get(packet.body.extra - 1) else {
            return self.on_raw(packet);
        };
        let taken = self.takes(to.host.0, packet);
        let Some(Extra::Datagram { from, to, data, pair }) = self.net.extras.remove(packet.body.extra - 1)
        else {
            unreachable!("it was just there")
        };
        if !taken {
            return;
        }
        let host = &mut self.net.hosts[to.host.0 as usize];
        let totals = &mut self.pairs[pair as usize];
        let Some(process) = host.process_bound(to.port) else {
            host.drops.no_port += 1;
            totals.drops.no_port += 1;
            return;
        };
        totals.received_packets += 1;
        totals.received_bytes += u64::from(packet.bytes);
        self.tell(process, Event::Datagram { from, port: to.port, data });
    }
}
