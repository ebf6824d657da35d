//! A run of a scenario, and what is seen of it: by names, so that runs whose parts are listed in another
//! order compare.

use fabric::{Counters, NodeId, PortId};
use serde_json::Value;
use sim::{FlowRecord, HostDrops, HostRecord, Outcome, PacketSeen, Pause, Sim};
use std::collections::BTreeMap;
use units::Time;

/// Events after which a run is cut off.
pub const BUDGET: u64 = 3_000_000;
/// Events between two looks.
const SLICE: u64 = 10_000;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All jobs have ended.
    Finished,
    /// Nothing would have happened any more.
    Stuck,
    Until,
    Deadlock,
    /// It was cut off after [`BUDGET`] events.
    Budget,
}

/// A flow by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub job: String,
    pub from: (String, u16),
    pub to: (String, u16),
    pub start: Time,
    pub end: Option<Time>,
    pub bytes: u64,
    pub sent_packets: u64,
    pub retransmits: u64,
    pub timeouts: u64,
    pub outcome: Outcome,
}

/// Datagrams of a job between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub sent: u64,
    pub received: u64,
    pub drops: HostDrops,
}

/// By job, sender and receiver.
pub type Datagrams = BTreeMap<(String, String, String), Pair>;

/// What is seen of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub end: End,
    /// Nothing is left to happen.
    pub settled: bool,
    /// All flows were over before the books were closed, with nothing of them left in the network.
    pub released: bool,
    pub now: Time,
    pub events: u64,
    pub flows: Vec<Flow>,
    pub datagrams: Datagrams,
    pub hosts: BTreeMap<String, HostRecord>,
    /// Jobs that the run waited for and that have not ended.
    pub open_jobs: Vec<String>,
    /// By owner and peer; several where links are parallel.
    pub ports: BTreeMap<(String, String), Vec<Counters>>,
    /// PAUSE frames received, and storms that watchdogs found.
    pub pauses: u64,
    pub storms: u64,
    pub in_transit: u64,
}

impl Seen {
    /// Packets that the hosts of `flow` had no route for, those of other flows included.
    pub fn no_route(&self, flow: &Flow) -> u64 {
        [&flow.from.0, &flow.to.0].map(|host| self.hosts[host].drops.no_route).iter().sum()
    }
}

/// A run that is over, its books still open.
pub struct Run {
    pub sim: Sim,
    pub end: End,
    /// Nothing is left to happen.
    pub settled: bool,
    flows: Vec<FlowRecord>,
    /// Captured packets.
    pub packets: Vec<PacketSeen>,
}

/// Runs to the end and, where all jobs have ended, on until nothing is left to happen.
pub fn run(scenario: &Value) -> Run {
    let scenario = scenario::parse(&scenario.to_string()).expect("a scenario");
    let sim = scenario::build(&scenario).unwrap_or_else(|problem| panic!("refused: {problem}"));
    let mut run = Run { sim, end: End::Budget, settled: false, flows: Vec::new(), packets: Vec::new() };
    let mut end = None;
    while run.sim.progress().events < BUDGET {
        let before = run.sim.progress().events;
        let pause = run.sim.run(SLICE);
        let mut records = run.sim.take_records();
        run.packets.append(&mut records.packets);
        run.flows.append(&mut records.flows);
        match pause {
            Pause::Running | Pause::Outward => continue,
            // Asked again, it does what is still on its way.
            Pause::Finished if run.sim.progress().events > before => end = Some(End::Finished),
            Pause::Finished | Pause::Idle => run.settled = true,
            Pause::Until | Pause::Deadlock => {}
        }
        if pause == Pause::Finished && !run.settled {
            continue;
        }
        end.get_or_insert(match pause {
            Pause::Idle => End::Stuck,
            Pause::Deadlock => End::Deadlock,
            Pause::Until => End::Until,
            Pause::Finished | Pause::Running | Pause::Outward => End::Finished,
        });
        break;
    }
    run.end = end.unwrap_or(End::Budget);
    run
}

impl Run {
    /// Closes the books.
    pub fn see(mut self) -> Seen {
        let sim = &mut self.sim;
        let (now, events) = (sim.progress().now, sim.progress().events);
        let released = self.flows.len();
        sim.close();
        self.flows.append(&mut sim.take_records().flows);
        assert_eq!(self.flows.len() as u64, sim.progress().flows, "every flow has its record");
        let graph = sim.graph().clone();
        let name = |node: u32| graph.name(NodeId(node)).to_owned();
        let jobs = sim.job_records();
        let flow = |flow: &FlowRecord| Flow {
            job: jobs[flow.job as usize].name.clone(),
            from: (name(flow.from.host.0), flow.from.port),
            to: (name(flow.to.host.0), flow.to.port),
            start: flow.start,
            end: flow.end,
            bytes: flow.bytes,
            sent_packets: flow.sent_packets,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            outcome: flow.outcome,
        };
        let mut flows: Vec<Flow> = self.flows.iter().map(flow).collect();
        flows.sort_by(|a, b| (a.start, &a.job, &a.from, &a.to).cmp(&(b.start, &b.job, &b.from, &b.to)));
        let mut datagrams = Datagrams::new();
        for pair in sim.datagram_records() {
            let key = (jobs[pair.job as usize].name.clone(), name(pair.from), name(pair.to));
            let (sent, received, drops) = (pair.sent_packets, pair.received_packets, pair.drops);
            datagrams.insert(key, Pair { sent, received, drops });
        }
        let open = jobs.iter().filter(|job| !job.background && job.end.is_none());
        let mut seen = Seen {
            end: self.end,
            settled: self.settled,
            released: released == flows.len(),
            now,
            events,
            flows,
            datagrams,
            hosts: (0..graph.hosts() as u32).map(|host| (name(host), sim.host_record(host))).collect(),
            open_jobs: open.map(|job| job.name.clone()).collect(),
            ports: BTreeMap::new(),
            pauses: 0,
            storms: 0,
            in_transit: 0,
        };
        seen.open_jobs.sort();
        let network = sim.network();
        let ports: Vec<PortId> = network.ports().collect();
        for port in ports {
            let (owner, peer) = network.ends(port);
            seen.pauses += network.sample(now, port).pause_received;
            seen.storms += (0..8)
                .filter_map(|class| network.pause_counters(now, port, class))
                .map(|counters| counters.storms)
                .sum::<u64>();
            seen.in_transit += network.in_transit(port);
            let counters = network.counters(now, port);
            seen.ports.entry((name(owner.0), name(peer.0))).or_default().push(counters);
        }
        seen
    }
}
