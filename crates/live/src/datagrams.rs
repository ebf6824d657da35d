//! The UDP sockets of a member: what its processes send leaves in batches, what comes is found its sender.

use crate::lane::Lane;
use crate::report::{Counters, DatagramRow};
use crate::settings::{Datagrams as Mode, Settings};
use crate::table::Table;
use process::{Addr, Payload};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use sys::udp::{RecvBatch, SendBatch, UdpSocket};

/// Headers that IPv4 and UDP add, as the simulator counts them.
const HEADERS: u64 = 28;
/// Bytes that wait at a port before they are sent in the middle of a turn, so that they stay in the cache.
const FLUSH_BYTES: usize = 256 << 10;

/// Bytes of a train that are queued at once: never more than a queue holds.
const TRAIN_BYTES: usize = 64 << 10;

/// One port.
pub(crate) struct Port {
    /// Its number in the job.
    pub port: u16,
    pub socket: UdpSocket,
    /// The job that has bound it.
    pub owner: Option<u32>,
    /// Something may be there to read.
    pub readable: bool,
    lanes: Vec<Lane>,
    /// (port, lane) by host.
    lane_of: Vec<Vec<(u16, u32)>>,
    /// Lanes that aren't empty, in the order in which they began to wait.
    waiting: VecDeque<u32>,
    queued_bytes: usize,
    /// The kernel's buffer is full.
    pub blocked: bool,
    /// What the kernel said last of datagrams that it had no room for.
    overflows: u32,
}

/// All ports of a member.
pub(crate) struct Datagrams {
    pub ports: Vec<Port>,
    /// Lent to who reads.
    pub received: Option<RecvBatch>,
    batch: SendBatch,
    batch_max: usize,
    queue_max: usize,
    datagram_max: u64,
    /// Datagrams of a message at most; 1: none are joined.
    segments: usize,
    came: BTreeMap<(u32, u32), DatagramRow>,
}

impl Datagrams {
    /// Sets the sockets up as `settings` say, as far as the kernel can.
    pub fn new(sockets: Vec<(u16, UdpSocket)>, settings: &Settings) -> io::Result<Datagrams> {
        let mut segments = match settings.datagrams {
            Mode::Segmented if !sockets.is_empty() => sys::udp::segments_max(),
            _ => 1,
        };
        let mut ports = Vec::new();
        for (port, socket) in sockets {
            socket.set_buffers(settings.receive_buffer_bytes, settings.send_buffer_bytes)?;
            if segments > 1 && socket.set_gro(true).is_err() {
                segments = 1;
            }
            ports.push(Port::new(port, socket));
        }
        let (count, size) = settings.receive_buffers(segments > 1);
        Ok(Datagrams {
            ports,
            received: Some(RecvBatch::new(count, size)),
            batch: SendBatch::default(),
            batch_max: settings.send_batch(),
            queue_max: settings.send_queue_bytes,
            datagram_max: settings.datagram_max_bytes as u64,
            segments,
            came: BTreeMap::new(),
        })
    }

    /// Whether datagrams are joined on their way through the kernel.
    pub fn joins(&self) -> bool {
        self.segments > 1
    }

    /// Largest datagram that is taken, in bytes.
    pub fn datagram_max(&self) -> u64 {
        self.datagram_max
    }

    /// Queues a datagram of `job`; sends what waits when that is much.
    pub fn send(&mut self, from: (u32, u16), to: Addr, data: &Payload, known: Known<'_>) {
        let length = data.len();
        self.queue(from, to, (1, length, length), known, |lane| lane.push(data));
    }

    /// Queues datagrams of `segment` bytes, the last of what is left.
    pub fn send_train(
        &mut self,
        from: (u32, u16),
        to: Addr,
        (data, segment): (&[u8], usize),
        known: Known<'_>,
    ) {
        // In pieces, so that none is refused for its length alone.
        for data in data.chunks((TRAIN_BYTES / segment).max(1) * segment) {
            let longest = data.len().min(segment);
            let size = (data.len().div_ceil(segment) as u64, longest as u64, data.len() as u64);
            let known = Known { table: known.table, counters: &mut *known.counters };
            self.queue(from, to, size, known, |lane| lane.push_train(data, segment));
        }
    }

    /// Finds the lane to put datagrams in: how many, bytes of the longest, bytes of all.
    fn queue(
        &mut self,
        (job, port): (u32, u16),
        to: Addr,
        (count, longest, bytes): (u64, u64, u64),
        Known { table, counters }: Known<'_>,
        put: impl FnOnce(&mut Lane),
    ) {
        if longest > self.datagram_max {
            counters.oversized_datagrams += count;
            return;
        }
        let Some(index) = self.ports.iter().position(|known| known.port == port) else {
            counters.unroutable_datagrams += count;
            return;
        };
        let length = bytes as usize;
        if self.ports[index].queued_bytes + length > FLUSH_BYTES.min(self.queue_max) {
            self.flush(index, counters);
        }
        let port = &mut self.ports[index];
        if port.queued_bytes + length > self.queue_max {
            counters.queue_drops += count;
            return;
        }
        let Some(index) = port.lane(job, to, self.segments, table) else {
            counters.unroutable_datagrams += count;
            return;
        };
        let lane = &mut port.lanes[index as usize];
        if lane.is_empty() {
            port.waiting.push_back(index);
        }
        put(lane);
        port.queued_bytes += length;
    }

    /// Notes `count` datagrams of `bytes` in all that came for `job`.
    pub fn came(&mut self, job: u32, from: u32, count: u64, bytes: u64) {
        let row = row(&mut self.came, job, from);
        row.received_packets += count;
        row.received_bytes += bytes + count * HEADERS;
    }

    /// Hands what waits to the kernel, as far as it takes it.
    pub fn flush(&mut self, index: usize, counters: &mut Counters) {
        let port = &mut self.ports[index];
        while !port.waiting.is_empty() && !port.blocked {
            let lanes = &port.lanes;
            let messages = port.waiting.iter().flat_map(|lane| lanes[*lane as usize].messages());
            let result = port.socket.send(&mut self.batch, messages.take(self.batch_max));
            match result {
                Ok(taken) => {
                    counters.send_calls += 1;
                    (0..taken).for_each(|_| port.sent(counters));
                }
                Err(error) => port.failed(&error, counters),
            }
        }
    }

    /// A host may have moved: lanes send to where the table says.
    pub fn readdress(&mut self, table: &Table) {
        for lane in self.ports.iter_mut().flat_map(|port| &mut port.lanes) {
            if let Some(address) = table.udp(lane.to) {
                lane.destination = address.into();
            }
        }
    }

    /// Totals by job and peer.
    pub fn rows(&self) -> Vec<DatagramRow> {
        let mut rows = self.came.clone();
        for lane in self.ports.iter().flat_map(|port| &port.lanes) {
            let row = row(&mut rows, lane.job, lane.to.host.0);
            row.sent_packets += lane.sent_packets;
            row.sent_bytes += lane.sent_bytes + lane.sent_packets * HEADERS;
        }
        rows.into_values().collect()
    }
}

/// What the driver lends for a call.
pub(crate) struct Known<'a> {
    pub table: &'a Table,
    pub counters: &'a mut Counters,
}

fn row(rows: &mut BTreeMap<(u32, u32), DatagramRow>, job: u32, peer: u32) -> &mut DatagramRow {
    rows.entry((job, peer)).or_insert(DatagramRow { job, peer, ..DatagramRow::default() })
}

impl Port {
    fn new(port: u16, socket: UdpSocket) -> Port {
        Port {
            port,
            socket,
            owner: None,
            readable: true,
            lanes: Vec::new(),
            lane_of: Vec::new(),
            waiting: VecDeque::new(),
            queued_bytes: 0,
            blocked: false,
            overflows: 0,
        }
    }

    /// The lane of `job` to `to`; `None` when the table doesn't know it. A port is one job's.
    #[inline]
    fn lane(&mut self, job: u32, to: Addr, segments: usize, table: &Table) -> Option<u32> {
        let host = to.host.0 as usize;
        let known = self.lane_of.get(host).and_then(|lanes| lanes.iter().find(|(port, _)| *port == to.port));
        if let Some((_, lane)) = known {
            return Some(*lane);
        }
        let destination = table.udp(to)?.into();
        if self.lane_of.len() <= host {
            self.lane_of.resize(host + 1, Vec::new());
        }
        let lane = self.lanes.len() as u32;
        self.lanes.push(Lane::new(job, to, destination, segments));
        self.lane_of[host].push((to.port, lane));
        Some(lane)
    }

    /// Takes the first message off: datagrams, bytes.
    fn pop(&mut self) -> (u64, usize) {
        let Some(&first) = self.waiting.front() else { return (0, 0) };
        let lane = &mut self.lanes[first as usize];
        let (count, bytes) = lane.pop().unwrap_or_default();
        self.queued_bytes -= bytes;
        if lane.is_empty() {
            self.waiting.pop_front();
        }
        (count, bytes)
    }

    fn sent(&mut self, counters: &mut Counters) {
        let (count, bytes) = self.pop();
        counters.sent_datagrams += count;
        counters.sent_bytes += bytes as u64;
    }

    /// The kernel has not taken the first message.
    #[cold]
    fn failed(&mut self, error: &io::Error, counters: &mut Counters) {
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => {
                self.blocked = true;
                counters.send_waits += 1;
            }
            _ if self.waiting.front().is_some_and(|lane| self.lanes[*lane as usize].separate()) => {}
            _ => {
                let (count, bytes) = self.pop();
                let too_long = bytes > 0 && error.raw_os_error() == Some(sys::udp::TOO_LONG);
                let counter =
                    if too_long { &mut counters.oversized_datagrams } else { &mut counters.send_errors };
                *counter += count;
            }
        }
    }

    /// The kernel says how many datagrams it had no room for, ever; counts those that are new.
    pub fn overflowed(&mut self, total: u32, counters: &mut Counters) {
        counters.kernel_drops += u64::from(total.wrapping_sub(self.overflows));
        self.overflows = total;
    }

    /// Whether something can be sent.
    pub fn has_work(&self) -> bool {
        !self.waiting.is_empty() && !self.blocked
    }
}
