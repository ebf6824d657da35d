//! Streams as the simulator keeps them: two endpoints, which of them opened it, what is on its way.

use crate::body::{Body, DATAGRAM, Sacks};
use crate::endpoint::{Endpoint, Stage, endpoint};
use crate::parts::{Half, UNNUMBERED};
use crate::records::{FlowRecord, Outcome};
use crate::run::Sim;
use fabric::{Delivery, Ecn, NodeId, Packet};
use process::{Addr, CloseReason, Event, Read, StreamId};
use rand::Rng;
use transport::tcp::{self, Connection, Flags, Header, SackBlock, Transmit};
use units::Time;

/// IP protocol number of TCP.
const TCP: u8 = 6;

/// A stream.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The opening side, the accepting side.
    pub ends: [Endpoint; 2],
    /// Segments in the network.
    pub in_flight: i32,
    pub hash: u16,
    pub class: u8,
    /// Running number of the run.
    pub number: u32,
    pub job: u32,
    pub group: u64,
    pub opened: Time,
    pub addresses: [Addr; 2],
    pub outcome: Outcome,
    /// What decides whether it is over, as last seen, and when that last changed.
    pub state: (i32, [Stage; 2]),
    pub looked: Time,
    /// Bytes of each side that were delivered while time was skipped: its stream has so much less.
    pub skipped: [u64; 2],
    /// What is known of it here, if its other end is in another part of the network.
    pub half: Option<Box<Half>>,
}

/// What decides about a flow's outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// An end's connection is over.
    Closed(Outcome),
    /// The host of an open end has crashed.
    Crashed,
    /// A process has aborted it.
    Aborted,
}

impl Flow {
    /// Something decides about the outcome; of several things not always the last.
    pub(crate) fn note(&mut self, now: Time, ending: Ending) {
        match &mut self.half {
            Some(half) => half.endings.push((now, ending)),
            None => self.decide(ending),
        }
    }

    pub(crate) fn decide(&mut self, ending: Ending) {
        // An end that has given up resets what the other still sends: the first of these is why the flow
        // broke.
        let given_up = matches!(self.outcome, Outcome::Refused | Outcome::TimedOut);
        let outcome = match ending {
            Ending::Closed(_) if given_up => return,
            Ending::Closed(Outcome::Finished) if self.outcome != Outcome::Unfinished => return,
            Ending::Closed(outcome) => outcome,
            Ending::Crashed if self.outcome == Outcome::Finished => return,
            Ending::Crashed | Ending::Aborted => Outcome::Reset,
        };
        self.outcome = outcome;
    }

    /// When the last byte was there, if the stream came to its end.
    fn end(&self) -> Option<Time> {
        let last = self.ends[0].tcp.received_at().max(self.ends[1].tcp.received_at());
        (self.outcome == Outcome::Finished).then_some(last.max(self.opened))
    }

    /// Whether both ends have all that the other will ever send; acknowledgements and FINs may be under way.
    pub(crate) fn is_delivered(&self) -> bool {
        let [a, b] = &self.ends;
        a.tcp.total() == Some(b.tcp.received()) && b.tcp.total() == Some(a.tcp.received())
    }

    /// Bytes that have come to a side.
    pub(crate) fn received(&self, side: usize) -> u64 {
        self.ends[side].tcp.received() + self.skipped[1 - side]
    }

    /// What the results say of it.
    pub(crate) fn record(&self) -> FlowRecord {
        let [a, b] = [self.ends[0].tcp.stats(), self.ends[1].tcp.stats()];
        // The side that sent more is the sender: an aggregator opens a stream to be sent something.
        let backwards = self.received(0) > self.received(1);
        let sender = if backwards { b } else { a };
        let side = usize::from(backwards);
        let [opener, acceptor] = self.addresses;
        let (from, to) = if backwards { (acceptor, opener) } else { (opener, acceptor) };
        FlowRecord {
            flow: self.number,
            job: self.job,
            group: self.group,
            from,
            to,
            class: self.class,
            bytes: self.received(0) + self.received(1),
            start: self.opened,
            end: self.end(),
            sent_packets: a.sent_segments + b.sent_segments,
            sent_bytes: a.sent_bytes + b.sent_bytes,
            retransmits: a.retransmits + b.retransmits,
            timeouts: a.timeouts + b.timeouts,
            fast_recoveries: a.fast_recoveries + b.fast_recoveries,
            tail_loss_probes: a.tail_loss_probes + b.tail_loss_probes,
            ece_acks: a.ece_acks + b.ece_acks,
            min_rtt: sender.min_rtt,
            srtt: sender.srtt,
            outcome: self.outcome,
            ways: [self.ends[side].way, self.ends[1 - side].way],
        }
    }
}

impl Sim {
    /// Opens a stream for `process`; it begins with the next packet of its host.
    pub(crate) fn open(&mut self, process: u32, to: Addr, group: u64) -> StreamId {
        let slot = &mut self.processes[process as usize];
        let (job, host) = (slot.job, slot.host);
        let isn = [slot.rng.next_u32(), slot.rng.next_u32()];
        let class = self.jobs[job as usize].class;
        self.jobs[job as usize].flows += 1;
        let home = self.jobs[job as usize].home_port;
        let from_port = self.dynamic_port(process, to.host.0);
        let addresses = [Addr { host: process::HostId(host), port: from_port }, to];
        let nodes = [NodeId(host), NodeId(to.host.0)];
        let hash = self.net.fabric.flow_hash(nodes[0], nodes[1], from_port, home, TCP);
        let [from_host, to_host] = [host, to.host.0].map(|host| &self.net.hosts[host as usize]);
        let client = Connection::client(&from_host.config.tcp, isn[0]);
        let server = Connection::server(&to_host.config.tcp, isn[1]);
        let number = match &self.part {
            Some(part) => UNNUMBERED | part.news.opened.len() as u32,
            None => self.next_flow,
        };
        self.next_flow += 1;
        self.streams += 1;
        let mut flow = Flow {
            ends: [
                Endpoint::new(client, host, process, Stage::Open),
                Endpoint::new(server, to.host.0, u32::MAX, Stage::Listening),
            ],
            in_flight: 0,
            hash,
            class,
            number,
            job,
            group,
            opened: self.net.now,
            addresses,
            outcome: Outcome::Unfinished,
            state: (0, [Stage::Open, Stage::Listening]),
            looked: Time::ZERO,
            skipped: [0; 2],
            half: None,
        };
        flow.ends[0].tag = self.streams;
        let slot = self.flows.insert(flow);
        if let Some(part) = &mut self.part {
            let place = part.place(process);
            part.news.opened.push((place, slot));
            let other = part.of[to.host.0 as usize];
            if other != part.me {
                let flow = self.flows.get_mut(slot).expect("just put there");
                flow.ends[1].stage = Stage::Closed;
                flow.half = Some(Half::new(other, isn[1]));
            }
        }
        self.find_ways(slot);
        self.touch(endpoint(slot, 0));
        stream_id(self.streams, endpoint(slot, 0))
    }

    /// Computes the routes of a flow's two directions.
    pub(crate) fn find_ways(&mut self, slot: u32) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        for side in 0..2 {
            let nodes = [flow.ends[side].host, flow.ends[1 - side].host].map(NodeId);
            flow.ends[side].way = self.net.fabric.route(nodes[0], nodes[1], flow.hash);
        }
        self.heed_limits(slot);
    }

    /// Tells a flow's ends how much may wait at the ports by which they send.
    pub(crate) fn heed_limits(&mut self, slot: u32) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        for end in &mut flow.ends {
            if let Some((port, _)) = end.way {
                end.nic_limit = self.net.hosts[end.host as usize].nic(port).threshold();
            }
        }
    }

    /// The endpoint that a stream's id means, if it is still there.
    pub(crate) fn endpoint_of(&mut self, stream: StreamId) -> Option<(u32, &mut Flow)> {
        let id = stream.0 as u32;
        let flow = self.flows.get_mut(id >> 1)?;
        (flow.ends[(id & 1) as usize].tag == (stream.0 >> 32) as u32).then_some((id, flow))
    }

    pub(crate) fn read(&mut self, stream: StreamId, max: u64) -> Read {
        let now = self.net.now;
        let Some((id, flow)) = self.endpoint_of(stream) else { return Read::default() };
        let side = (id & 1) as usize;
        let n = flow.ends[side].tcp.read(now, max);
        let end = flow.ends[side].tcp.at_end();
        let data = flow.ends[1 - side].take(n);
        if end && std::mem::take(&mut flow.ends[side].unread) {
            self.report(id, tcp::Event::Closed(tcp::CloseReason::Finished));
        }
        self.touch(id);
        Read { data, end }
    }

    /// A segment has come to its host.
    #[inline(always)]
    pub(crate) fn on_segment(&mut self, delivery: Delivery) {
        let packet = self.net.fabric.collect(delivery);
        let id = packet.body.to;
        let Some(flow) = self.flows.get_mut(id >> 1) else {
            let packet = *packet;
            return self.on_other_packet(&packet);
        };
        flow.in_flight -= 1;
        let end = &mut flow.ends[(id & 1) as usize];
        let ce = packet.ecn == Ecn::Ce;
        if end.stage != Stage::Open || packet.body.extra != 0 {
            let packet = *packet;
            return self.on_rare_segment(&packet);
        }
        self.net.taken[end.host as usize].add(packet.bytes);
        if take(end, self.net.now, &packet.body.header, &[], ce) {
            self.pass_on(id);
        } else {
            self.net.pump_live(id, flow);
        }
    }

    /// A packet that is of no flow: a datagram.
    #[cold]
    fn on_other_packet(&mut self, packet: &Packet<Body>) {
        assert_eq!(packet.body.to, DATAGRAM, "a flow stays while its packets are under way");
        self.on_datagram(packet);
    }

    /// A segment with SACK blocks, or for an endpoint that isn't open.
    #[cold]
    pub(crate) fn on_rare_segment(&mut self, packet: &Packet<Body>) {
        let Body { ref header, to: id, extra } = packet.body;
        let ce = packet.ecn == Ecn::Ce;
        let sacks = if extra != 0 { self.net.take_sacks(extra) } else { Sacks::default() };
        let host = self.flows.get(id >> 1).expect("the caller has looked").ends[(id & 1) as usize].host;
        if self.takes(host, packet) && self.admit(id, header) {
            let flow = self.flows.get_mut(id >> 1).expect("it was admitted");
            if take(&mut flow.ends[(id & 1) as usize], self.net.now, header, sacks.as_slice(), ce) {
                // What it still has to send comes first.
                return self.pass_on(id);
            }
            self.net.pump(id, flow);
        }
        self.release(id >> 1);
    }

    /// A segment for an endpoint that may not be open: whether its transport gets it.
    fn admit(&mut self, id: u32, header: &Header) -> bool {
        let flow = self.flows.get_mut(id >> 1).expect("the caller has looked");
        let end = &mut flow.ends[(id & 1) as usize];
        let port = flow.addresses[1].port;
        let host = &self.net.hosts[end.host as usize];
        match end.stage {
            Stage::Open | Stage::Closed => true,
            Stage::Listening => match host.process_listening(port) {
                Some(process) => {
                    self.streams += 1;
                    (end.process, end.stage, end.tag) = (process, Stage::Open, self.streams);
                    true
                }
                None => {
                    self.refuse(id, header);
                    false
                }
            },
            Stage::Dead => {
                self.refuse(id, header);
                false
            }
        }
    }

    /// Answers a segment with a reset (RFC 9293, section 3.10.7.1).
    fn refuse(&mut self, id: u32, header: &Header) {
        if header.flags.contains(Flags::RST) {
            return;
        }
        let length = u32::from(header.len) + u32::from(header.flags.contains(Flags::SYN));
        let reset = Header {
            seq: header.ack,
            ack: header.seq.wrapping_add(length),
            flags: Flags::RST | Flags::ACK,
            ..Header::default()
        };
        let flow = self.flows.get_mut(id >> 1).expect("the caller has looked");
        self.net.launch(id, flow, &Transmit::new(reset, false));
    }

    /// After an application call or a timer: passes on what the transport reports, or lets it send.
    pub(crate) fn after_tcp(&mut self, id: u32) {
        if self.skip.is_some() {
            self.disturb_ways(id >> 1);
        }
        let Some(flow) = self.flows.get_mut(id >> 1) else { return };
        if flow.ends[(id & 1) as usize].tcp.has_event() {
            return self.pass_on(id);
        }
        self.net.pump(id, flow);
        self.release(id >> 1);
    }

    #[cold]
    pub(crate) fn pass_on(&mut self, id: u32) {
        while let Some(flow) = self.flows.get_mut(id >> 1)
            && let Some(event) = flow.ends[(id & 1) as usize].tcp.poll_event()
        {
            self.report(id, event);
        }
        // The process answers first, so that its data can travel with the acknowledgement.
        self.touch(id);
    }

    fn report(&mut self, id: u32, event: tcp::Event) {
        let now = self.net.now;
        let flow = self.flows.get_mut(id >> 1).expect("the caller has looked");
        let side = (id & 1) as usize;
        let end = &mut flow.ends[side];
        let stream = stream_id(end.tag, id);
        let process = end.process;
        if matches!(end.stage, Stage::Dead | Stage::Closed) {
            return;
        }
        let event = match event {
            tcp::Event::Opened if side == 0 => Event::Opened { stream },
            tcp::Event::Opened => {
                Event::Accepted { stream, from: flow.addresses[0], port: flow.addresses[1].port }
            }
            tcp::Event::Readable => Event::Readable { stream },
            tcp::Event::Writable => Event::Writable { stream },
            tcp::Event::Closed(tcp::CloseReason::Finished) if end.tcp.readable() > 0 => {
                // The process is told when it has read the rest.
                end.unread = true;
                return;
            }
            tcp::Event::Closed(reason) => {
                end.stage = Stage::Closed;
                let (reason, outcome) = close_reason(reason);
                flow.note(now, Ending::Closed(outcome));
                Event::Closed { stream, reason }
            }
        };
        self.tell(process, event);
    }

    /// Frees a flow when both ends are done and nothing of it is in the network.
    pub(crate) fn release(&mut self, slot: u32) {
        self.release_at(self.net.now, slot);
    }

    /// The same for what may have ended the flow at another time, in another part of the network.
    pub(crate) fn release_at(&mut self, at: Time, slot: u32) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        let state = (flow.in_flight, flow.ends.each_ref().map(|end| end.stage));
        if std::mem::replace(&mut flow.state, state) != state {
            flow.looked = flow.looked.max(at);
        }
        if flow.half.is_some() {
            // Both parts see to it when they meet.
            return self.part.as_mut().expect("only parts have halves").news.ended.push(slot);
        }
        let done = |end: &Endpoint| match end.stage {
            Stage::Closed | Stage::Dead => true,
            Stage::Listening => matches!(flow.ends[0].stage, Stage::Closed | Stage::Dead),
            Stage::Open => false,
        };
        if flow.in_flight == 0 && flow.ends.iter().all(done) {
            self.free(slot);
        }
    }

    /// Forgets a flow that is over, once its books are closed.
    #[inline(never)]
    pub(crate) fn free(&mut self, slot: u32) {
        self.disturb_area_of(slot);
        let flow = self.flows.remove(slot).expect("the caller has looked");
        for (side, end) in (0..).zip(&flow.ends).filter(|(_, end)| end.ready) {
            // The next flow in this slot is to wait for turns of its own.
            self.net.hosts[end.host as usize].forget_turn(endpoint(slot, side));
        }
        self.close_books(&flow);
    }

    /// Records a flow that is over, or that the end of the run finds open.
    pub(crate) fn close_books(&mut self, flow: &Flow) {
        for end in &flow.ends {
            let stats = end.tcp.stats();
            let past = &mut self.net.hosts[end.host as usize].past;
            past.retransmits += stats.retransmits;
            past.retransmitted_bytes += stats.retransmitted_bytes;
            past.timeouts += stats.timeouts;
        }
        let record = flow.record();
        let job = &mut self.jobs[flow.job as usize];
        job.bytes += record.bytes;
        if record.end.is_some() {
            job.flows_done += 1;
            self.flows_done += 1;
        }
        job.flows_broken += u64::from(!matches!(record.outcome, Outcome::Finished | Outcome::Unfinished));
        self.keep_record(record, flow.looked);
    }

    /// Flows are recorded in the order in which they were released, those of the same time in that of their
    /// numbers.
    fn keep_record(&mut self, record: FlowRecord, released: Time) {
        let records = &mut self.records.flows;
        if let Some(part) = &mut self.part {
            part.news.released.push(released);
            return records.push(record);
        }
        if self.released.0 != released {
            self.released = (released, records.len());
        }
        let place = records[self.released.1..].partition_point(|other| other.flow < record.flow);
        records.insert(self.released.1 + place, record);
    }

    /// The timer of an endpoint.
    pub(crate) fn on_endpoint(&mut self, id: u32) {
        let now = self.net.now;
        let Some(flow) = self.flows.get_mut(id >> 1) else { return };
        let end = &mut flow.ends[(id & 1) as usize];
        if end.timer_at != now || matches!(end.stage, Stage::Dead) {
            return; // Moved since; its own event is under way.
        }
        end.timer_at = Time::MAX;
        if end.tcp.poll_timer() > now {
            return self.net.arm(id, end);
        }
        end.tcp.handle_timer(now);
        self.after_tcp(id);
    }
}

/// Gives a segment to its transport; whether that has something to report.
#[inline(always)]
fn take(end: &mut Endpoint, now: Time, header: &Header, sacks: &[SackBlock], ce: bool) -> bool {
    end.tcp.handle_segment(now, header, sacks, ce);
    end.tcp.has_event()
}

/// Ids of a process's streams are in the order in which it has opened or accepted them.
fn stream_id(tag: u32, id: u32) -> StreamId {
    StreamId((u64::from(tag) << 32) | u64::from(id))
}

fn close_reason(reason: tcp::CloseReason) -> (CloseReason, Outcome) {
    match reason {
        tcp::CloseReason::Finished => (CloseReason::Finished, Outcome::Finished),
        tcp::CloseReason::Refused => (CloseReason::Refused, Outcome::Refused),
        tcp::CloseReason::Reset => (CloseReason::Reset, Outcome::Reset),
        tcp::CloseReason::TimedOut => (CloseReason::TimedOut, Outcome::TimedOut),
    }
}
