//! A small cluster with programs and memory nodes on it.

use crate::cache::Policy;
use crate::cost::Way;
use crate::local::Setting;
use crate::pager::{
    Board, Costs, Fault, Memory, Order, Pattern, Program, Schedule, Settings, Shape, ThreadAccesses, Totals,
    WriteBack,
};
use crate::steps::Steps;
use fabric::{Framing, Graph, Link, LinkProps, NodeId, SwitchConfig};
use process::{Addr, HostId, Process, rng};
use sim::{Change, HostConfig, JobSetup, LinkChange, Pause, Records, Setup, Sim};
use std::sync::Arc;
use units::{Bytes, Rate, Time};

pub const RATE: Rate = Rate::from_gbps(10);
pub const DELAY: Time = Time::from_us(2);
const PORT: u16 = 5000;
/// Ethernet's framing, IP, TCP.
pub const HEADERS: u64 = 38 + 20 + 20;

/// A page a request, sent back before one is fetched.
pub fn settings(capacity: u32) -> Settings {
    Settings {
        local: Setting::new(capacity, Policy::Lru),
        page: Bytes::new(4096),
        write_back: WriteBack::Before,
        write_buffer: 64,
        schedule: Schedule::Fifo,
        costs: Costs::default(),
    }
}

/// Accesses to any of 64 pages, 2 µs apart.
pub fn pattern(times: u64, writes: f64) -> Pattern {
    Pattern { shape: Shape::Ordered(Order::Random), pages: 64, times, writes, compute: Time::from_us(2) }
}

pub fn accesses(pattern: Pattern, seed: u64) -> ThreadAccesses {
    ThreadAccesses::made(pattern, vec![rng::stream(seed, "accesses")]).remove(0)
}

/// All steps of a thread, for a replay.
pub fn steps(mut accesses: ThreadAccesses) -> Steps {
    let (pages, stored) = accesses.pages();
    let mut computed = Time::ZERO;
    let steps = std::iter::from_fn(|| accesses.next(&mut computed)).collect();
    Steps { steps, pages: pages.to_vec(), stored, ..Steps::default() }
}

/// Hosts on wires: those of 2 are joined to each other, more to a switch.
fn graph(hosts: u32, props: LinkProps) -> Graph {
    let link = |a: u32, b: u32| Link { a: NodeId(a), b: NodeId(b), ab: props, ba: props };
    let names = (0..hosts).map(|host| format!("host{host}")).collect();
    if hosts == 2 {
        return Graph::new(names, Vec::new(), vec![link(0, 1)]).unwrap();
    }
    Graph::new(names, vec!["switch".into()], (0..hosts).map(|host| link(host, hosts)).collect()).unwrap()
}

/// A packet in a hundred is lost between so many programs and the memory node, both ways.
pub fn lossy(programs: u32) -> Vec<(Time, Change)> {
    let far = NodeId(if programs == 1 { 1 } else { programs + 1 });
    let lose = |host| (Time::ZERO, Change::Link(NodeId(host), far, LinkChange::Loss(0.01)));
    (0..programs).map(lose).collect()
}

/// What came of a run.
pub struct Run {
    pub pause: Pause,
    pub totals: Vec<Totals>,
    pub faults: Vec<Vec<Fault>>,
    pub records: Records,
    pub fingerprint: u64,
}

/// Runs these programs of one thread with one memory node, the last host.
pub fn run(settings: Settings, all: Vec<ThreadAccesses>, faults: Vec<(Time, Change)>) -> Run {
    let programs = all.into_iter().map(|accesses| vec![accesses]).collect();
    run_on(LinkProps { rate: RATE, delay: DELAY, mtu: 9000 }, settings, programs, faults)
}

/// The same of programs whose threads have these accesses, on such links.
pub fn run_on(
    link: LinkProps,
    settings: Settings,
    all: Vec<Vec<ThreadAccesses>>,
    faults: Vec<(Time, Change)>,
) -> Run {
    settings.check().unwrap();
    let node = HostId(all.len() as u32);
    let boards: Vec<Board> = all.iter().map(|_| Board::default()).collect();
    let shared = Arc::new(settings);
    let mut processes: Vec<(HostId, Box<dyn Process>)> =
        vec![(node, Box::new(Memory::new(PORT, settings.schedule, settings.costs.serve)))];
    for (number, accesses) in all.into_iter().enumerate() {
        let (memory, board) = (Addr { host: node, port: PORT }, boards[number].clone());
        let program = Program::new(number as u64, Arc::clone(&shared), accesses, memory, board);
        processes.push((HostId(number as u32), Box::new(program)));
    }
    let graph = graph(node.0 + 1, link);
    let host = HostConfig { mtu: link.mtu, cores: 2, disk: RATE, ..HostConfig::default() };
    let job = JobSetup {
        name: "memory".into(),
        kind: "farmem".into(),
        start: Time::ZERO,
        class: 0,
        background: false,
        processes,
    };
    let mut sim = Sim::new(Setup {
        framing: Framing::ETHERNET,
        seed: 1,
        switches: vec![SwitchConfig::default(); graph.nodes() - graph.hosts()],
        hosts: vec![host; graph.hosts()],
        jobs: vec![job],
        faults,
        until: Time::from_secs(1000),
        graph,
    });
    let pause = loop {
        let pause = sim.run(1 << 20);
        if pause != Pause::Running {
            break pause;
        }
    };
    sim.close();
    Run {
        pause,
        totals: boards.iter().map(Board::totals).collect(),
        faults: boards.iter().map(Board::take_faults).collect(),
        fingerprint: sim.progress().fingerprint,
        records: sim.take_records(),
    }
}

/// What a request costs on an idle wire: both ways' propagation and the messages, without the pages.
pub fn way(there: u64, back: u64, pages_a_request: u32) -> Way {
    let messages = Bytes::new(there + back + 2 * HEADERS);
    let latency = DELAY.saturating_mul(2).saturating_add(RATE.time_for(messages));
    Way { latency, rate: RATE, pages_a_request }
}
