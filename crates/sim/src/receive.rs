//! What a packet takes at the host that it comes to, before its transport or process has it.
//!
//! One packet after the other, each for [`HostConfig::packet_cost`] of a core that computations would have
//! had next. Packets go ahead of computations, as interrupts do; or, with a [`HostConfig::time_slice`], they
//! wait for the end of the slice under way while all cores compute. What is sent takes nothing, and neither
//! takes what its size would add. Then each is late by a random part of [`HostConfig::packet_jitter`], and
//! still behind those before it: that takes no core, so it limits no rate.

use crate::body::{Body, DATAGRAM, Extra};
use crate::config::HostConfig;
use crate::host::{Host, NORMAL};
use crate::key::Kind;
use crate::run::Sim;
use fabric::{Delivery, Packet};
use rand::RngExt;
use units::Time;

impl HostConfig {
    /// Whether packets may have to wait at the host.
    pub(crate) fn delays_packets(&self) -> bool {
        [self.packet_cost, self.packet_jitter, self.time_slice].iter().any(|time| *time != Time::ZERO)
    }
}

impl Host {
    /// Gives a packet that comes `now` its time; when its transport or process gets it.
    fn receive(&mut self, now: Time) -> Time {
        let begin = now.max(self.received.free).max(self.end_of_slice(now));
        let cost = self.config.packet_cost.mul_div(NORMAL, self.speed);
        let end = begin.saturating_add(cost);
        let core = self.cores.iter_mut().min().expect("a host has a core");
        *core = (*core).max(begin).saturating_add(cost);
        self.core_busy += cost;
        self.received.free = end;
        let jitter = self.config.packet_jitter.as_ps();
        let late = self.chance.as_mut().map_or(0, |chance| chance.random_range(0..=jitter));
        let before = self.received.waiting.back().map_or(Time::ZERO, |(before, _)| *before);
        end.saturating_add(Time::from_ps(late)).max(before)
    }

    /// When computations leave the cores to packets: with the slice under way, or when one of them is over.
    fn end_of_slice(&self, now: Time) -> Time {
        let free = *self.cores.iter().min().expect("a host has a core");
        let slice = self.config.time_slice.as_ps();
        if slice == 0 || free <= now {
            return now;
        }
        let into = now.saturating_sub(self.busy_since).as_ps();
        self.busy_since.saturating_add(Time::from_ps(into.div_ceil(slice).saturating_mul(slice))).min(free)
    }
}

impl Sim {
    /// A packet has come to a host of a cluster in which packets may have to wait.
    #[cold]
    pub(crate) fn on_costly_delivery(&mut self, delivery: Delivery) {
        let now = self.net.now;
        let packet = *self.net.fabric.collect(delivery);
        let index = self.receiver_of(&packet);
        let host = &mut self.net.hosts[index as usize];
        if !host.up || !host.config.delays_packets() {
            return self.on_received(&packet);
        }
        let due = host.receive(now);
        if due <= now && host.received.waiting.is_empty() {
            return self.on_received(&packet);
        }
        host.received.waiting.push_back((due, packet));
        self.net.outside.at(due, Kind::Received, index);
    }

    /// A packet at `host` has had its time.
    pub(crate) fn on_waited(&mut self, host: u32) {
        let received = &mut self.net.hosts[host as usize].received;
        if received.waiting.front().is_some_and(|(due, _)| *due <= self.net.now)
            && let Some((_, packet)) = received.waiting.pop_front()
        {
            self.on_received(&packet);
        }
    }

    /// What waits at a host that crashes is lost with it.
    pub(crate) fn lose_received(&mut self, host: u32) {
        let received = std::mem::take(&mut self.net.hosts[host as usize].received);
        for (_, packet) in received.waiting {
            self.lose_at_down(host, &packet);
            self.net.outside.gone.push(packet);
        }
        self.net.outside.news = true;
    }

    /// A packet has come to `host`: whether that is there to take it.
    pub(crate) fn takes(&mut self, host: u32, packet: &Packet<Body>) -> bool {
        let up = self.net.hosts[host as usize].up;
        if up {
            self.net.taken[host as usize].add(packet.bytes);
        } else {
            self.lose_at_down(host, packet);
        }
        up
    }

    /// Counts a packet that is lost because `host` is down.
    fn lose_at_down(&mut self, host: u32, packet: &Packet<Body>) {
        self.net.hosts[host as usize].drops.down += 1;
        if packet.body.to == DATAGRAM
            && let Some(Extra::Datagram { pair, .. }) = self.net.extras.get(packet.body.extra - 1)
        {
            self.pairs[*pair as usize].drops.down += 1;
        }
    }

    /// Where a packet has come to.
    fn receiver_of(&self, packet: &Packet<Body>) -> u32 {
        let Body { to, extra, .. } = packet.body;
        if to != DATAGRAM {
            let flow = self.flows.get(to >> 1).expect("a flow stays while its packets are under way");
            return flow.ends[(to & 1) as usize].host;
        }
        match self.net.extras.get(extra - 1) {
            Some(Extra::Datagram { to, .. }) => to.host.0,
            Some(Extra::Raw { to, .. }) => to.0,
            other => unreachable!("a datagram carries its content, not {other:?}"),
        }
    }

    /// Gives a packet to its transport or process.
    fn on_received(&mut self, packet: &Packet<Body>) {
        if packet.body.to == DATAGRAM {
            return self.on_datagram(packet);
        }
        let flow = self.flows.get_mut(packet.body.to >> 1).expect("it has a receiver");
        flow.in_flight -= 1;
        self.on_rare_segment(packet);
    }
}
