//! Small clusters for tests.

#![allow(dead_code, reason = "each test file uses a part of it")]

use fabric::{Buffer, Depth, Framing, Graph, LinkProps, Queue, SwitchConfig};
use process::{HostId, Process};
use sim::{Change, HostConfig, JobSetup, Pause, Records, Setup, Sim, rng};
use traffic::{Bulk, HostInfo, Job};
use transport::tcp::{self, Congestion, EcnMode};
use units::{Bytes, Rate, Time};

/// 10 Gb/s, 1 µs.
pub const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };

/// A cluster under construction.
pub struct Cluster {
    pub graph: Graph,
    pub seed: u64,
    /// Of hosts.
    pub mtu: u32,
    pub cores: u32,
    pub packet_cost: Time,
    pub packet_jitter: Time,
    pub time_slice: Time,
    pub tcp: tcp::Config,
    pub switch: SwitchConfig,
    pub faults: Vec<(Time, Change)>,
    pub until: Time,
}

impl Cluster {
    /// Hosts with default TCP, ports of 256 packets.
    pub fn new(graph: Graph) -> Cluster {
        let switch =
            SwitchConfig { buffer: Buffer::Static { limit: Depth::Packets(256) }, ..SwitchConfig::default() };
        Cluster {
            graph,
            seed: 1,
            mtu: 1500,
            cores: 2,
            packet_cost: Time::ZERO,
            packet_jitter: Time::ZERO,
            time_slice: Time::ZERO,
            tcp: tcp::Config::default(),
            switch,
            faults: Vec::new(),
            until: Time::from_secs(1000),
        }
    }

    /// DCTCP with K = 65 packets.
    pub fn dctcp(mut self) -> Cluster {
        self.tcp.congestion = Congestion::Dctcp;
        self.tcp.ecn = EcnMode::On;
        self.switch.queue = Queue::Step { threshold: Depth::Packets(65) };
        self
    }

    /// A simulation of one job of the lab's generic ones.
    pub fn job(&self, job: &Job) -> Sim {
        let infos = vec![HostInfo { rate: LINK.rate, mtu: Bytes::new(1500) }; self.graph.hosts()];
        let mut draws = rng::stream(self.seed, "plan");
        self.processes(traffic::build(job, &infos, &mut draws, 5000).unwrap())
    }

    /// A simulation of a job made of `processes`.
    pub fn processes(&self, processes: Vec<(HostId, Box<dyn Process>)>) -> Sim {
        let host = HostConfig {
            mtu: self.mtu,
            nic_queue: 32_000,
            cores: self.cores,
            disk: Rate::from_gbps(4),
            packet_cost: self.packet_cost,
            packet_jitter: self.packet_jitter,
            time_slice: self.time_slice,
            tcp: self.tcp.clone().into(),
            ..HostConfig::default()
        };
        let job = JobSetup {
            name: "job".into(),
            kind: "test".into(),
            start: Time::ZERO,
            class: 0,
            background: false,
            processes,
        };
        Sim::new(Setup {
            graph: self.graph.clone(),
            framing: Framing::ETHERNET,
            seed: self.seed,
            switches: vec![self.switch.clone(); self.graph.nodes() - self.graph.hosts()],
            hosts: vec![host; self.graph.hosts()],
            jobs: vec![job],
            faults: self.faults.clone(),
            until: self.until,
        })
    }
}

/// Runs to the end; returns why it ended and everything that was measured.
pub fn run(sim: &mut Sim) -> (Pause, Records) {
    loop {
        let pause = sim.run(1 << 20);
        if pause != Pause::Running {
            sim.close();
            return (pause, sim.take_records());
        }
    }
}

/// Bulk flows between pairs of hosts.
pub fn bulk(pairs: &[(u32, u32)], bytes: u64) -> Job {
    Job::Bulk(Bulk { pairs: pairs.iter().map(|(a, b)| (HostId(*a), HostId(*b))).collect(), bytes })
}
