//! Everything a simulation is made of, ready to be run.

use crate::config::HostConfig;
use crate::host::{Host, Nic};
use crate::job::{Job, JobSetup, Slot};
use crate::key::Kind;
use crate::net::Net;
use crate::outside::Outside;
use crate::ports::home_port;
use crate::run::{Control, Sim};
use crate::wheel::Wheel;
use crate::{Change, Records};
use fabric::{Depth, Fabric, Framing, Graph, NodeId, SwitchConfig};
use process::rng;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// A cluster and what it is to do.
pub struct Setup {
    /// Its nodes and links.
    pub graph: Graph,
    /// Bytes on the wire.
    pub framing: Framing,
    /// All randomness derives from it.
    pub seed: u64,
    /// Settings of each switch, in the order of the graph's switches.
    pub switches: Vec<SwitchConfig>,
    /// Settings of each host.
    pub hosts: Vec<HostConfig>,
    /// What the cluster does.
    pub jobs: Vec<JobSetup>,
    /// What goes wrong when.
    pub faults: Vec<(Time, Change)>,
    /// The run ends here at the latest.
    pub until: Time,
}

/// What Ethernet adds to a packet on the wire, about.
const FRAMING_BYTES: u64 = 38;
/// Packets that a NIC's queue holds at most (Linux's `txqueuelen`).
const NIC_PACKETS: u64 = 1000;

impl Sim {
    /// A simulation at time zero.
    pub fn new(setup: Setup) -> Sim {
        let Setup { graph, framing, seed, switches, hosts, jobs, faults, until } = setup;
        let first_switch = graph.hosts();
        let switch = |node: NodeId| switches[node.0 as usize - first_switch].clone();
        let mut fabric = Fabric::new(&graph, framing, rng::split(seed, "fabric"), switch);
        let mtu = hosts.iter().map(|host| host.mtu).max().unwrap_or(0);
        fabric.expect_packets_of(mtu);
        let outside = Outside::new(Wheel::new(spacing(&graph, mtu), 2 * graph.links().len()));
        let mut states: Vec<Host> = Vec::with_capacity(hosts.len());
        for (index, config) in hosts.into_iter().enumerate() {
            let node = NodeId(index as u32);
            let first = fabric.ports_of(node).next().expect("a host has a port");
            let mut nics = Vec::new();
            for port in fabric.ports_of(node) {
                // Linux's loopback has no queue that could overflow.
                if port != fabric.loopback(node) {
                    fabric.limit_queue(port, Depth::Packets(NIC_PACKETS));
                }
                let has_classes = fabric.class_backlog(port, 0).is_some();
                nics.push(Nic::new(fabric.rate(port), config.nic_queue, has_classes));
            }
            let mut config = config.with_mss();
            if let Some(before) = states.last() {
                config.share(&before.config);
            }
            states.push(Host::new((graph.name(node), seed), config, first, nics));
        }
        let packets_wait = states.iter().any(|host| host.config.delays_packets());
        let mut sim = Sim {
            packets_wait,
            net: Net {
                now: Time::ZERO,
                fabric,
                outside,
                taken: vec![Default::default(); states.len()],
                hosts: states,
                extras: Default::default(),
            },
            until,
            grain: Time::ZERO,
            stop: until,
            winds_up: false,
            seed,
            graph,
            flows: Default::default(),
            pairs: Vec::new(),
            pair_of: BTreeMap::new(),
            processes: Vec::new(),
            opened: BTreeMap::new(),
            jobs: Vec::new(),
            timers: Default::default(),
            tasks: Default::default(),
            works: Default::default(),
            works_begun: 0,
            inbox: VecDeque::new(),
            dirty: Vec::new(),
            spare: Vec::new(),
            controls: Vec::new(),
            sampler: Default::default(),
            stall: Default::default(),
            skip: None,
            captures: Vec::new(),
            fluids: Vec::new(),
            fluid_rates: BTreeMap::new(),
            records: Records::default(),
            released: (Time::ZERO, 0),
            is_closed: false,
            part: None,
            outward: Vec::new(),
            next_flow: 0,
            streams: 0,
            flows_done: 0,
            jobs_left: 0,
            events: 0,
            hops: 0,
            fingerprint: 0,
        };
        for job in jobs {
            sim.add_job(job);
        }
        // Those that start at the same time do so by name, whatever their order in the scenario.
        let mut order: Vec<u32> = (0..sim.jobs.len() as u32).collect();
        order.sort_by(|a, b| sim.jobs[*a as usize].name.cmp(&sim.jobs[*b as usize].name));
        for job in order {
            sim.schedule_control(sim.jobs[job as usize].start, Control::Start(job));
        }
        for (time, change) in faults {
            sim.stall.last_change = sim.stall.last_change.max(time);
            sim.expect(change);
            sim.schedule_control(time, Control::Change(change));
        }
        sim
    }

    fn add_job(&mut self, setup: JobSetup) {
        let index = self.jobs.len() as u32;
        let mut members = Vec::with_capacity(setup.processes.len());
        for (host, process) in setup.processes {
            let name = format!("job {} on {}", setup.name, self.graph.name(NodeId(host.0)));
            members.push(self.processes.len() as u32);
            self.processes.push(Slot {
                job: index,
                host: host.0,
                process: Some(process),
                rng: rng::stream(self.seed, &name),
                finished: false,
            });
        }
        self.jobs_left += usize::from(!setup.background);
        self.jobs.push(Job {
            home_port: home_port(&setup.name),
            name: setup.name,
            kind: setup.kind,
            start: setup.start,
            class: setup.class,
            background: setup.background,
            unfinished: members.len(),
            processes: members,
            end: None,
            flows: 0,
            flows_done: 0,
            flows_broken: 0,
            bytes: 0,
        });
    }

    pub(crate) fn schedule_control(&mut self, time: Time, control: Control) {
        self.net.outside.at(time, Kind::Control, self.controls.len() as u32);
        self.controls.push(control);
    }
}

/// Mean time between events when half of the ports are busy with packets of `mtu` bytes.
fn spacing(graph: &Graph, mtu: u32) -> Time {
    let packet_bits = (u64::from(mtu) + FRAMING_BYTES) * 8;
    let rates = graph.links().iter().flat_map(|link| [link.ab.rate, link.ba.rate]);
    let bits = rates.fold(0u64, |sum, rate| sum.saturating_add(rate.as_bps()));
    Time::from_ps(2_000_000_000_000u64.saturating_mul(packet_bits) / bits.max(1))
}
