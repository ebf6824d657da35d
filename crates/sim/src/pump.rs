//! Ports of hosts that have room again, and what became of packets that did not get through.

use crate::body::DATAGRAM;
use crate::endpoint::Stage;
use crate::run::Sim;
use fabric::PortId;

impl Sim {
    /// A port of `host` has room: endpoints that wait for it send a segment each in turn.
    pub(crate) fn on_nic(&mut self, host: u32, port: PortId) {
        if self.net.hosts[host as usize].raw_waits.is_some() {
            self.on_raw_room(host);
        }
        let net = &mut self.net;
        net.hosts[host as usize].nic_mut(port).pending = false;
        // Endpoints in turn whose class has no room, where classes queue apart.
        let mut blocked = 0;
        while blocked < net.hosts[host as usize].nic(port).ready.len() {
            let Some(id) = net.hosts[host as usize].nic_mut(port).ready.pop_front() else { return };
            let flow = self.flows.get_mut(id >> 1).expect("who waits has not been released");
            let end = &mut flow.ends[(id & 1) as usize];
            debug_assert!(end.ready && end.stage != Stage::Dead, "a crash forgets turns");
            // Without a way nothing is full: what is sent is lost, and the transport's timers see to the
            // rest.
            if let Some((way, _)) = end.way
                && net.is_full(end, flow.class)
            {
                net.await_nic(host, way, flow.class);
                let nic = net.hosts[host as usize].nic_mut(way);
                if way != port {
                    // Its packets have been rerouted since.
                    nic.ready.push_back(id);
                    continue;
                }
                if nic.has_classes {
                    nic.ready.push_back(id);
                    blocked += 1;
                    continue;
                }
                nic.ready.push_front(id);
                return;
            }
            blocked = 0;
            match end.tcp.poll_transmit(net.now) {
                Some(transmit) => {
                    net.launch(id, flow, &transmit);
                    net.hosts[host as usize].nic_mut(port).ready.push_back(id);
                }
                None => end.ready = false,
            }
            net.arm(id, &mut flow.ends[(id & 1) as usize]);
        }
    }

    /// Settles accounts of the packets that the event at hand discarded or showed.
    pub(crate) fn settle(&mut self) {
        for seen in std::mem::take(&mut self.net.outside.seen) {
            self.show(&seen);
        }
        // Nothing that settles discards.
        let mut gone = std::mem::take(&mut self.net.outside.gone);
        for packet in gone.drain(..) {
            let body = packet.body;
            if body.extra != 0 {
                self.net.extras.remove(body.extra - 1);
            }
            if body.to == DATAGRAM {
                continue;
            }
            if let Some(flow) = self.flows.get_mut(body.to >> 1) {
                flow.in_flight -= 1;
                self.release(body.to >> 1);
            } else if let Some(part) = &mut self.part {
                part.miss(self.net.now, body.to);
            }
        }
        self.net.outside.gone = gone;
    }
}
