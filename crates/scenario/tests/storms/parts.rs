//! A run in parts has the bytes of a whole run.

use crate::run::BUDGET;
use fabric::{NodeId, PortId};
use serde_json::Value;
use sim::{
    DatagramRecord, FlowRecord, HostRecord, JobRecord, Parts, Pause, Progress, Records, Sim, TaskRecord,
};

const SLICE: u64 = 20_000;

/// The ports that a flow has crossed, to its receiver and back.
type Ways = [Option<Vec<PortId>>; 2];

/// All that a run has to show.
#[derive(Debug, PartialEq)]
struct Shown {
    pause: Pause,
    progress: Progress,
    flows: Vec<(FlowRecord, Ways)>,
    tasks: Vec<TaskRecord>,
    samples: String,
    jobs: Vec<JobRecord>,
    datagrams: Vec<DatagramRecord>,
    hosts: Vec<HostRecord>,
    ports: Vec<String>,
    pauses: String,
}

/// Compares whole and parts, where the network can be cut; in how many parts it was.
pub fn alike(scenario: &Value) -> usize {
    let scenario = scenario::parse(&scenario.to_string()).expect("a scenario");
    let build = || scenario::build(&scenario).unwrap_or_else(|problem| panic!("refused: {problem}"));
    let mut whole = build();
    let cuts: Vec<_> = [2, 7].into_iter().filter_map(|parts| whole.cut(parts)).collect();
    if cuts.is_empty() {
        return 0;
    }
    let mut records = Records::default();
    let mut pause = Pause::Running;
    while pause == Pause::Running && whole.progress().events < BUDGET {
        pause = whole.run(SLICE);
        append(&mut records, whole.take_records());
    }
    if pause == Pause::Running {
        return 0;
    }
    let whole = shown(whole, pause, records);
    for cut in &cuts {
        for threads in [1, cut.parts().min(3)] {
            let mut parts = Parts::new(cut, (0..cut.parts()).map(|_| build()).collect(), threads);
            let mut records = Records::default();
            let mut pause = Pause::Running;
            while pause == Pause::Running {
                pause = parts.run(SLICE);
                append(&mut records, parts.take_records());
            }
            let parts = shown(parts.into_whole(), pause, records);
            same(&parts, &whole, cut.parts(), threads);
        }
    }
    cuts[cuts.len() - 1].parts()
}

/// As `assert_eq`, but says where.
fn same(parts: &Shown, whole: &Shown, count: usize, threads: usize) {
    let case = format!("{count} parts on {threads} threads");
    assert_eq!(parts.pause, whole.pause, "{case}");
    for (parts, whole) in parts.flows.iter().zip(&whole.flows) {
        assert_eq!(parts, whole, "{case}");
    }
    assert_eq!(parts.flows.len(), whole.flows.len(), "{case}");
    assert_eq!(parts.tasks, whole.tasks, "{case}");
    assert_eq!(parts.jobs, whole.jobs, "{case}");
    assert_eq!(parts.datagrams, whole.datagrams, "{case}");
    assert_eq!(parts.hosts, whole.hosts, "{case}");
    for (parts, whole) in parts.ports.iter().zip(&whole.ports) {
        assert_eq!(parts, whole, "{case}");
    }
    assert_eq!(parts.pauses, whole.pauses, "{case}");
    assert_eq!(parts.samples, whole.samples, "{case}");
    assert_eq!(parts.progress, whole.progress, "{case}");
}

fn append(all: &mut Records, mut more: Records) {
    all.flows.append(&mut more.flows);
    all.tasks.append(&mut more.tasks);
    all.ports.append(&mut more.ports);
    all.queues.append(&mut more.queues);
    all.pauses.append(&mut more.pauses);
    all.pools.append(&mut more.pools);
    all.flow_samples.append(&mut more.flow_samples);
    all.hosts.append(&mut more.hosts);
    all.events.append(&mut more.events);
}

fn shown(mut sim: Sim, pause: Pause, mut records: Records) -> Shown {
    let progress = sim.progress();
    sim.close();
    append(&mut records, sim.take_records());
    let Records { flows, tasks, ports, queues, pauses, pools, flow_samples, hosts, events, .. } = records;
    let graph = sim.graph().clone();
    let totals: Vec<_> = sim.network().ports().collect();
    let totals = totals.into_iter().map(|port| {
        let (a, b) = sim.network().ends(port);
        let counters = sim.network().counters(progress.now, port);
        let state = sim.network().sample(progress.now, port);
        let wait = sim.network().waits(port).quantile(99, 100);
        let in_transit = sim.network().in_transit(port);
        let pauses = [0, 3].map(|class| sim.network().pause_counters(progress.now, port, class));
        let (a, b) = (graph.name(a), graph.name(b));
        format!("{a}–{b}: {counters:?} {state:?} {wait:?} {in_transit} {pauses:?}")
    });
    let totals = totals.collect();
    // Routes have other numbers in parts: what they cross is the same.
    let with_ways = |flow: FlowRecord| {
        let ways = flow.ways.map(|way| way.map(|way| sim.network().path(way)));
        (FlowRecord { ways: [None, None], ..flow }, ways)
    };
    let flows = flows.into_iter().map(with_ways).collect();
    Shown {
        pause,
        progress,
        flows,
        tasks,
        samples: format!("{ports:?} {queues:?} {pauses:?} {pools:?} {flow_samples:?} {hosts:?} {events:?}"),
        jobs: sim.job_records(),
        datagrams: sim.datagram_records(),
        hosts: (0..graph.hosts() as u32).map(|host| sim.host_record(NodeId(host).0)).collect(),
        ports: totals,
        pauses: format!("{:?} {:?}", sim.network().pause_causes(progress.now), sim.deadlock()),
    }
}
