//! Series: the state of chosen ports, of hosts and flows at a fixed interval; and captured packets.

use crate::body::{Body, DATAGRAM, Extra};
use crate::endpoint::{Endpoint, Stage};
use crate::flow::Flow;
use crate::outside::Seen;
use crate::records::{FlowSample, HostRecord, HostSample, PacketSeen, PauseSample, Transport};
use crate::run::Sim;
use fabric::{NodeId, PortId, Sample};
use process::Addr;
use std::collections::{BTreeMap, BTreeSet};
use units::Time;

/// What is sampled.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    pub interval: Option<Time>,
    /// Ports and their last sample.
    pub ports: Vec<(PortId, Sample)>,
    /// PAUSE frames sent and time paused at the last sample, by port and class.
    pauses: BTreeMap<(PortId, u8), (u64, Time)>,
    /// Switches of these ports.
    switches: Vec<NodeId>,
    /// Hosts at the ends of these ports, and their last sample.
    pub hosts: Vec<(u32, HostSample)>,
    pub flows: bool,
}

impl Sampler {
    /// Samples only these ports and nodes from now on.
    pub(crate) fn restrict(&mut self, has_port: impl Fn(PortId) -> bool, has_node: impl Fn(NodeId) -> bool) {
        self.ports.retain(|(port, _)| has_port(*port));
        self.switches.retain(|node| has_node(*node));
        self.hosts.retain(|(host, _)| has_node(NodeId(*host)));
    }
}

/// What is sampled of a flow, if its sender has one open end.
pub(crate) fn flow_sample(flow: &Flow, acceptor: &Endpoint) -> Option<FlowSample> {
    let opener = &flow.ends[0];
    let backwards = opener.tcp.received() > acceptor.tcp.received();
    let sender = if backwards { acceptor } else { opener };
    let stats = sender.tcp.stats();
    (sender.stage == Stage::Open).then(|| FlowSample {
        flow: flow.number,
        cwnd: stats.cwnd,
        in_flight: stats.in_flight,
        srtt: stats.srtt,
        acked: sender.tcp.acked() + flow.skipped[usize::from(backwards)],
    })
}

impl Sim {
    /// Samples `ports`, the hosts at their ends and, with `flows`, all open flows every `interval`. To be
    /// called before the run.
    pub fn sample(&mut self, interval: Time, ports: impl IntoIterator<Item = PortId>, flows: bool) {
        let ports: Vec<(PortId, Sample)> = ports.into_iter().map(|port| (port, Sample::default())).collect();
        let ends = ports.iter().flat_map(|(port, _)| <[NodeId; 2]>::from(self.net.fabric.ends(*port)));
        let hosts: BTreeSet<u32> = ends.filter(|node| self.graph.is_host(*node)).map(|node| node.0).collect();
        let owners: BTreeSet<NodeId> = ports.iter().map(|(port, _)| self.net.fabric.ends(*port).0).collect();
        self.net.fabric.explain_pauses();
        self.sampler = Sampler {
            interval: Some(interval),
            ports,
            pauses: BTreeMap::new(),
            switches: owners.into_iter().filter(|node| !self.graph.is_host(*node)).collect(),
            hosts: hosts.into_iter().map(|host| (host, HostSample::default())).collect(),
            flows,
        };
        self.schedule_sample();
    }

    /// Captures the packets that cross the link of `port`, both ways, and those discarded at its two ports.
    /// To be called before the run.
    pub fn capture(&mut self, port: PortId) {
        for port in [port, self.net.fabric.reverse(port)] {
            if !self.net.outside.captured.contains(&port) {
                self.net.fabric.capture(port);
                self.net.outside.captured.push(port);
            }
        }
        self.captures.push(port);
    }

    /// Ports whose links are captured.
    pub fn captures(&self) -> &[PortId] {
        &self.captures
    }

    pub(crate) fn take_samples(&mut self) {
        let now = self.net.now;
        let mut sampler = std::mem::take(&mut self.sampler);
        for (port, last) in &mut sampler.ports {
            let sample = self.net.fabric.sample(now, *port);
            let delta = Sample {
                sent_bytes: sample.sent_bytes - last.sent_bytes,
                discards: sample.discards - last.discards,
                in_discards: sample.in_discards - last.in_discards,
                out_discards: sample.out_discards - last.out_discards,
                marks: sample.marks - last.marks,
                pause_sent: sample.pause_sent - last.pause_sent,
                pause_received: sample.pause_received - last.pause_received,
                paused: sample.paused - last.paused,
                ..sample
            };
            self.records.ports.push((now, *port, delta));
            *last = sample;
            self.sample_classes(*port, &mut sampler.pauses);
            self.net.fabric.restart_watermarks(now, *port);
        }
        for switch in &sampler.switches {
            if let Some(level) = self.net.fabric.pool_level(*switch) {
                self.records.pools.push((now, switch.0, level));
                self.net.fabric.restart_pool_watermarks(*switch);
            }
        }
        for (host, last) in &mut sampler.hosts {
            let sample = self.host_sample(*host);
            let delta = HostSample {
                sent_bytes: sample.sent_bytes - last.sent_bytes,
                received_bytes: sample.received_bytes - last.received_bytes,
                core_busy: sample.core_busy.saturating_sub(last.core_busy),
                disk_busy: sample.disk_busy.saturating_sub(last.disk_busy),
            };
            self.records.hosts.push((now, *host, delta));
            *last = sample;
        }
        if sampler.flows {
            self.sample_flows();
        }
        self.sampler = sampler;
    }

    /// Samples the queues of a port's classes, and what PFC has done there.
    fn sample_classes(&mut self, port: PortId, pauses: &mut BTreeMap<(PortId, u8), (u64, Time)>) {
        let (now, fabric) = (self.net.now, &self.net.fabric);
        for (class, level) in (0..).zip(fabric.queue_levels(port)).filter(|(_, level)| level.max > 0) {
            self.records.queues.push((now, port, class, level));
        }
        for class in 0..8 {
            let Some(counters) = fabric.pause_counters(now, port, class) else { continue };
            if (counters.held_max, counters.xoff_sent, counters.paused) == (0, 0, Time::ZERO) {
                continue;
            }
            let last = pauses.entry((port, class)).or_default();
            let sample = PauseSample {
                port,
                class,
                group: fabric.group_level(port, class).unwrap_or_default(),
                xoff_sent: counters.xoff_sent - last.0,
                paused: counters.paused - last.1,
            };
            self.records.pauses.push((now, sample));
            *last = (counters.xoff_sent, counters.paused);
        }
    }

    fn sample_flows(&mut self) {
        let first = self.records.flow_samples.len();
        for (_, flow) in self.flows.iter().filter(|(_, flow)| flow.half.is_none()) {
            let sample = flow_sample(flow, &flow.ends[1]);
            self.records.flow_samples.extend(sample.map(|sample| (self.net.now, sample)));
        }
        self.records.flow_samples[first..].sort_unstable_by_key(|(_, sample)| sample.flow);
    }

    fn host_sample(&mut self, host: u32) -> HostSample {
        let now = self.net.now;
        let ports: Vec<PortId> = self.net.fabric.ports_of(NodeId(host)).collect();
        let mut sample = HostSample {
            core_busy: self.net.hosts[host as usize].core_busy,
            disk_busy: self.net.hosts[host as usize].disk_busy,
            sent_bytes: 0,
            received_bytes: self.net.taken[host as usize].bytes,
        };
        for port in ports {
            sample.sent_bytes += self.net.fabric.sample(now, port).sent_bytes;
        }
        sample
    }

    /// Totals of a host.
    pub fn host_record(&mut self, host: u32) -> HostRecord {
        let totals = self.host_sample(host);
        let (now, loopback) = (self.net.now, self.net.fabric.loopback(NodeId(host)));
        let loopback_drops = self.net.fabric.counters(now, loopback).discards.total();
        let state = &self.net.hosts[host as usize];
        HostRecord {
            totals,
            received_packets: self.net.taken[host as usize].packets,
            drops: state.drops,
            loopback_drops,
            retransmits: state.past.retransmits,
            retransmitted_bytes: state.past.retransmitted_bytes,
            timeouts: state.past.timeouts,
            crashes: state.crashes,
        }
    }

    /// Records a packet that was seen at a captured port.
    pub(crate) fn show(&mut self, seen: &Seen) {
        let Body { header, to, extra } = seen.packet.body;
        let known = extra.checked_sub(1).and_then(|slot| self.net.extras.get(slot));
        let (from, to, transport) = if to == DATAGRAM {
            match known {
                Some(Extra::Datagram { from, to, data, .. }) => {
                    (*from, *to, Transport::Udp { len: data.len() })
                }
                Some(Extra::Raw { from, to, ports, data, .. }) => {
                    let (from, to) = (Addr { host: *from, port: ports.0 }, Addr { host: *to, port: ports.1 });
                    (from, to, Transport::Raw(data.clone()))
                }
                _ => return,
            }
        } else {
            let Some(flow) = self.flows.get(to >> 1) else { return };
            let side = (to & 1) as usize;
            let sacks = match known {
                Some(Extra::Sack(sacks)) => sacks.as_slice().to_vec(),
                _ => Vec::new(),
            };
            let mss = self.net.hosts[flow.ends[1 - side].host as usize].config.advertised_mss();
            (flow.addresses[1 - side], flow.addresses[side], Transport::Tcp { header, sacks, mss })
        };
        let queue = self.net.fabric.sample(self.net.now, seen.port).queue_bytes;
        self.records.packets.push(PacketSeen {
            time: seen.time,
            port: seen.port,
            from,
            to,
            class: seen.packet.class,
            ecn: seen.packet.ecn,
            transport,
            discard: seen.discard.map(|reason| (reason, queue)),
        });
    }
}
