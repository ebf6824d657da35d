//! What segments pass through between a transport and the network: the clock, the NICs, the fabric.
//!
//! Kept apart from the flows, so that a flow in hand can send without being looked up again.

use crate::body::{Body, Extra, Sacks};
use crate::endpoint::{Endpoint, Stage};
use crate::flow::Flow;
use crate::host::{Host, Taken};
use crate::key::Kind;
use crate::outside::Outside;
use crate::slab::Slab;
use fabric::{Ecn, Fabric, Packet, PortId};
use transport::tcp::{Notes, SackBlock, Transmit};
use units::Time;

/// The clock and everything that packets touch.
pub(crate) struct Net {
    pub now: Time,
    pub fabric: Fabric<Body>,
    pub outside: Outside,
    pub hosts: Vec<Host>,
    /// By host.
    pub taken: Vec<Taken>,
    pub extras: Slab<Extra>,
}

impl Net {
    /// Lets an endpoint send as much as its windows and the NIC allow. While much waits at the NIC, it
    /// takes its turn round robin with others, as Linux's byte queue limits, small queues and fair
    /// queueing have it. Each port of a host has turns of its own.
    #[inline(always)]
    pub(crate) fn pump(&mut self, id: u32, flow: &mut Flow) {
        if flow.ends[(id & 1) as usize].stage != Stage::Dead {
            self.pump_live(id, flow);
        }
    }

    /// The same for an endpoint that is not [dead](Stage::Dead).
    #[inline(always)]
    pub(crate) fn pump_live(&mut self, id: u32, flow: &mut Flow) {
        let side = (id & 1) as usize;
        if !flow.ends[side].tcp.is_plain() {
            return self.pump_unusual(id, flow);
        }
        while flow.ends[side].tcp.has_data() {
            if self.may_be_full(&flow.ends[side]) {
                return self.pump_full(id, flow);
            }
            let Some(transmit) = flow.ends[side].tcp.poll_full_segment(self.now) else {
                return self.pump_unusual(id, flow);
            };
            self.launch(id, flow, &transmit);
        }
        if flow.ends[side].tcp.owes_ack() {
            let Some(transmit) = flow.ends[side].tcp.poll_plain_ack(self.now) else {
                return self.send_ack(id, flow);
            };
            self.launch(id, flow, &transmit);
        }
        self.arm(id, &mut flow.ends[side]);
    }

    /// Sends an acknowledgement that has something to say of gaps, if one is due.
    #[inline(never)]
    fn send_ack(&mut self, id: u32, flow: &mut Flow) {
        let side = (id & 1) as usize;
        if let Some(transmit) = flow.ends[side].tcp.poll_ack(self.now) {
            self.launch(id, flow, &transmit);
        }
        self.arm(id, &mut flow.ends[side]);
    }

    /// The same for whatever an endpoint has to send.
    #[inline(never)]
    fn pump_unusual(&mut self, id: u32, flow: &mut Flow) {
        let side = (id & 1) as usize;
        loop {
            if self.may_be_full(&flow.ends[side]) {
                return self.pump_full(id, flow);
            }
            let Some(transmit) = flow.ends[side].tcp.poll_transmit(self.now) else { break };
            self.launch(id, flow, &transmit);
        }
        self.arm(id, &mut flow.ends[side]);
    }

    /// Whether the NIC may be full; where it queues classes apart, that is always so.
    #[inline]
    fn may_be_full(&self, end: &Endpoint) -> bool {
        end.way.is_some_and(|(port, _)| self.fabric.backlog(self.now, port) >= end.nic_limit)
    }

    /// Whether enough of `class` waits at the NIC of `end`.
    pub(crate) fn is_full(&self, end: &Endpoint, class: u8) -> bool {
        let host = &self.hosts[end.host as usize];
        end.way.is_some_and(|(port, _)| match self.fabric.class_backlog(port, class) {
            Some(bytes) => bytes > host.config.nic_queue,
            None => host.nic(port).is_full(self.fabric.backlog(self.now, port)),
        })
    }

    /// The NIC is full, as it seems.
    #[cold]
    fn pump_full(&mut self, id: u32, flow: &mut Flow) {
        let side = (id & 1) as usize;
        while flow.ends[side].tcp.wants_to_send() {
            if self.is_full(&flow.ends[side], flow.class) {
                return self.wait_for_nic(id, flow);
            }
            let Some(transmit) = flow.ends[side].tcp.poll_transmit(self.now) else { break };
            self.launch(id, flow, &transmit);
        }
        self.arm(id, &mut flow.ends[side]);
    }

    /// Acknowledgements don't wait behind data, all else takes its turn.
    fn wait_for_nic(&mut self, id: u32, flow: &mut Flow) {
        let side = (id & 1) as usize;
        while let Some(transmit) = flow.ends[side].tcp.poll_ack(self.now) {
            self.launch(id, flow, &transmit);
        }
        self.arm(id, &mut flow.ends[side]);
        let end = &mut flow.ends[side];
        if end.ready || !end.tcp.wants_to_send() {
            return;
        }
        end.ready = true;
        let (host, port) = (end.host, end.way.expect("a full NIC is a way").0);
        self.hosts[host as usize].nic_mut(port).ready.push_back(id);
        self.await_nic(host, port, flow.class);
    }

    /// Asks to be called when half of the queue at a port of `host` is gone.
    pub(crate) fn await_nic(&mut self, host: u32, port: PortId, class: u8) {
        let state = &mut self.hosts[host as usize];
        if state.nic(port).has_classes {
            return self.fabric.await_room(port, class, state.config.nic_queue / 2 + 1);
        }
        let is_first = port == state.first_port;
        let nic = state.nic_mut(port);
        if std::mem::replace(&mut nic.pending, true) {
            return;
        }
        let at = self.now + nic.time_to_half(self.fabric.backlog(self.now, port));
        if is_first {
            self.outside.at(at, Kind::Nic, host);
        } else {
            self.outside.at(at, Kind::Room, port.0);
        }
    }

    /// The settings of a port of `host` at the rate that it has now.
    pub(crate) fn set_nic(&mut self, host: u32, port: PortId) {
        let state = &mut self.hosts[host as usize];
        let (rate, queue) = (self.fabric.rate(port), state.config.nic_queue);
        state.nic_mut(port).set_limit(rate, queue);
    }

    /// Puts a segment of endpoint `id` on its way.
    #[inline(always)]
    pub(crate) fn launch(&mut self, id: u32, flow: &mut Flow, transmit: &Transmit) {
        let end = &flow.ends[(id & 1) as usize];
        let Some((port, route)) = end.way else { return self.drop_unroutable(end.host) };
        let header = &transmit.header;
        let extra = if header.notes == Notes::NONE { 0 } else { self.keep_sacks(end.tcp.sack_blocks()) };
        let packet = Packet {
            route,
            bytes: transmit.bytes,
            hash: flow.hash,
            class: flow.class,
            ecn: if transmit.ect { Ecn::Ect0 } else { Ecn::NotEct },
            body: Body { header: *header, to: id ^ 1, extra },
        };
        flow.in_flight += 1;
        self.fabric.enqueue(self.now, PortId::NONE, port, &packet, &mut self.outside);
    }

    /// Sees to it that an event comes no later than the transport's deadline. An earlier one is left
    /// to come and look again: deadlines mostly move away with each acknowledgement.
    #[inline(always)]
    pub(crate) fn arm(&mut self, id: u32, end: &mut Endpoint) {
        let due = end.tcp.poll_timer();
        if due < end.timer_at {
            end.timer_at = due;
            self.call_endpoint(due, id);
        }
    }

    /// `host` has no route for what it would send.
    #[cold]
    fn drop_unroutable(&mut self, host: u32) {
        self.hosts[host as usize].drops.no_route += 1;
    }

    #[cold]
    fn call_endpoint(&mut self, at: Time, id: u32) {
        self.outside.at(at, Kind::Endpoint, id);
    }

    #[cold]
    fn keep_sacks(&mut self, blocks: &[SackBlock]) -> u32 {
        if blocks.is_empty() {
            return 0;
        }
        self.extras.insert(Extra::Sack(Sacks::new(blocks))) + 1
    }

    #[cold]
    pub(crate) fn take_sacks(&mut self, extra: u32) -> Sacks {
        match self.extras.remove(extra - 1) {
            Some(Extra::Sack(sacks)) => sacks,
            other => unreachable!("a segment carries SACK blocks, not {other:?}"),
        }
    }
}
