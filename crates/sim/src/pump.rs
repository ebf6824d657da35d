//! From the transport to the NIC: endpoints send while the NIC's queue is short, and otherwise wait
//! their turn round robin, as Linux's byte queue limits, small queues and fair queueing have it.

use crate::body::{Body, Extra};
use crate::endpoint::Stage;
use crate::key::Kind;
use crate::run::Sim;
use fabric::{Ecn, Packet, PortId};
use transport::tcp::{SackBlock, Transmit};
use units::Time;

impl Sim {
    /// Lets an endpoint send as much as its windows and the NIC allow.
    pub(crate) fn pump(&mut self, id: u32) {
        let now = self.now;
        loop {
            let Some(flow) = self.flows.get_mut(id >> 1) else { return };
            let end = &mut flow.ends[(id & 1) as usize];
            if end.stage == Stage::Dead {
                return self.release(id >> 1);
            }
            let full = end.way.is_some_and(|(port, _)| {
                self.fabric.backlog(now, port) > self.hosts[end.host as usize].nic_limit
            });
            if full && !end.tcp.wants_to_send(now) {
                break;
            }
            // Acknowledgements don't wait behind data.
            let transmit = if full { end.tcp.poll_ack(now) } else { end.tcp.poll_transmit(now) };
            match transmit {
                Some(transmit) => self.launch(id, transmit),
                None if full => {
                    self.wait_for_nic(id);
                    break;
                }
                None => break,
            }
        }
        self.arm(id);
        if self.flows.get(id >> 1).is_some_and(|flow| flow.ends[(id & 1) as usize].stage != Stage::Open) {
            self.release(id >> 1);
        }
    }

    /// Puts a segment of endpoint `id` on its way.
    #[inline]
    pub(crate) fn launch(&mut self, id: u32, transmit: Transmit) {
        let Some(flow) = self.flows.get_mut(id >> 1) else { return };
        let end = &flow.ends[(id & 1) as usize];
        let Some((port, route)) = end.way else { return }; // No route: lost, as in a network without one.
        let header = transmit.header;
        let extra = if header.sack_count == 0 {
            0
        } else {
            self.extras.insert(Extra::Sack(end.tcp.sack_blocks().to_vec())) + 1
        };
        let packet = Packet {
            route,
            bytes: header.bytes() as u16,
            hash: flow.hash,
            class: flow.class,
            ecn: if transmit.ect { Ecn::Ect0 } else { Ecn::NotEct },
            body: Body { header, to: id ^ 1, extra },
        };
        flow.in_flight += 1;
        self.fabric.enqueue(self.now, PortId::NONE, port, packet, &mut self.outside);
    }

    fn wait_for_nic(&mut self, id: u32) {
        let flow = self.flows.get_mut(id >> 1).expect("the caller has looked");
        let end = &mut flow.ends[(id & 1) as usize];
        if end.ready {
            return;
        }
        end.ready = true;
        let (host, port) = (end.host, end.way.expect("a full NIC is a way").0);
        self.hosts[host as usize].ready.push_back(id);
        self.await_nic(host, port);
    }

    /// Asks to be called when half of the NIC's queue is gone.
    fn await_nic(&mut self, host: u32, port: PortId) {
        let nic = &mut self.hosts[host as usize];
        if nic.nic_pending {
            return;
        }
        nic.nic_pending = true;
        let half = Time::from_ps(nic.nic_limit.as_ps() / 2);
        let at = self.now + self.fabric.backlog(self.now, port).saturating_sub(half);
        self.outside.at(at, Kind::Nic, host);
    }

    /// The NIC of `host` has room: endpoints that wait send a segment each in turn.
    pub(crate) fn on_nic(&mut self, host: u32) {
        self.hosts[host as usize].nic_pending = false;
        let now = self.now;
        while let Some(id) = self.hosts[host as usize].ready.pop_front() {
            let Some(flow) = self.flows.get_mut(id >> 1) else { continue };
            let end = &mut flow.ends[(id & 1) as usize];
            let Some((port, _)) = end.way.filter(|_| end.ready && end.stage != Stage::Dead) else { continue };
            if self.fabric.backlog(now, port) > self.hosts[host as usize].nic_limit {
                self.hosts[host as usize].ready.push_front(id);
                return self.await_nic(host, port);
            }
            match end.tcp.poll_transmit(now) {
                Some(transmit) => {
                    self.launch(id, transmit);
                    self.hosts[host as usize].ready.push_back(id);
                }
                None => end.ready = false,
            }
            self.arm(id);
        }
    }

    #[cold]
    pub(crate) fn take_sacks(&mut self, extra: u32) -> Vec<SackBlock> {
        match self.extras.remove(extra - 1) {
            Some(Extra::Sack(blocks)) => blocks,
            other => unreachable!("a segment carries SACK blocks, not {other:?}"),
        }
    }

    /// Settles accounts of the packets that the event at hand discarded or showed.
    #[cold]
    pub(crate) fn settle(&mut self) {
        for seen in std::mem::take(&mut self.outside.seen) {
            self.show(&seen);
        }
        for packet in std::mem::take(&mut self.outside.gone) {
            let body = packet.body;
            if body.extra != 0 {
                self.extras.remove(body.extra - 1);
            }
            if body.to != crate::body::DATAGRAM
                && let Some(flow) = self.flows.get_mut(body.to >> 1)
            {
                flow.in_flight -= 1;
                self.release(body.to >> 1);
            }
        }
    }
}

