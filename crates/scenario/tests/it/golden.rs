//! Results of standard scenarios as text tables that a person reviews when they change.
//!
//! `UPDATE_GOLDEN=1 cargo test -p incast-scenario --test golden` writes them again.

use fabric::{Buffer, Depth, Discard, Framing, LinkProps, PortId, Queue, SwitchConfig};
use scenario::kinds::*;
use scenario::lab::*;
use sim::{FlowRecord, HostConfig, Pause, Sim};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use traffic::rpc::{Arrivals, Rpc};
use traffic::{AllToAll, Bulk, Incast, Order, Permutation};
use transport::tcp::{Config, Congestion, EcnMode};
use units::{Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };

fn tcp(congestion: Congestion) -> Config {
    Config {
        congestion,
        ecn: if congestion == Congestion::Dctcp { EcnMode::On } else { EcnMode::Off },
        timestamps: true,
        rto_min: Time::from_ms(10).into(),
        delayed_ack: Time::from_ms(5),
        receive_buffer: 6 << 20,
        ..Config::default()
    }
}

fn hosts(prefix: &str, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|i| format!("{prefix}{i}")).collect()
}

fn scenario(topology: Topology, congestion: Congestion, work: Work) -> Scenario {
    let marks = congestion == Congestion::Dctcp;
    let queue = if marks { Queue::Step { threshold: Depth::Packets(65) } } else { Queue::TailDrop {} };
    Scenario {
        name: "golden".into(),
        seed: 1,
        topology,
        framing: Framing::ETHERNET,
        switches: vec![Rule {
            pattern: "*".into(),
            config: SwitchConfig {
                buffer: Buffer::Static { limit: Depth::Packets(256) },
                queue,
                ..SwitchConfig::default()
            },
        }],
        hosts: vec![Rule {
            pattern: "*".into(),
            config: HostConfig {
                nic_queue: 32_000,
                cores: 4,
                disk: Rate::from_gbps(4),
                tcp: tcp(congestion).into(),
                ..HostConfig::default()
            },
        }],
        jobs: vec![Job { name: "job".into(), start: Time::ZERO, class: 0, work }],
        faults: Vec::new(),
        measure: Measure::default(),
        clock: None,
        fidelity: None,
        until: None,
    }
}

/// The simulation when it is over, and its flows.
fn ended(scenario: &Scenario) -> (Sim, Vec<FlowRecord>) {
    let mut sim = scenario::build(scenario).unwrap();
    while sim.run(1 << 20) == Pause::Running {}
    sim.close();
    let flows = sim.take_records().flows;
    (sim, flows)
}

/// One line of results.
fn line(scenario: &Scenario) -> String {
    let (mut sim, flows) = ended(scenario);
    let now = sim.progress().now;
    let took = |flow: &FlowRecord| (flow.end.expect("every flow ends") - flow.start).as_us();
    let mut times: Vec<u64> = flows.iter().map(took).collect();
    times.sort_unstable();
    let sum = |of: fn(&FlowRecord) -> u64| flows.iter().map(of).sum::<u64>();
    let ports: Vec<PortId> = sim.network().ports().collect();
    let (mut drops, mut marks, mut longest) = (0, 0, 0);
    for port in ports {
        let counters = sim.network().counters(now, port);
        drops += counters.discards.of(Discard::Tail) + counters.discards.of(Discard::Early);
        marks += counters.marks;
        longest = longest.max(counters.queue_max_packets);
    }
    let goodput = sum(|flow| flow.bytes) * 8 / sim.ended().as_us().max(1);
    format!(
        "{:>6} {:>10} {:>10} {:>10} {:>8} {:>6} {:>6} {:>6} {:>5} {:>5}",
        times.len(),
        times.iter().sum::<u64>() / times.len() as u64,
        times[(times.len() * 99).div_ceil(100) - 1],
        sim.ended().as_us(),
        goodput,
        drops,
        marks,
        sum(|flow| flow.retransmits),
        sum(|flow| flow.timeouts),
        longest,
    )
}

/// What skipping steady states leaves out and how far it is off: the part of the packets that was skipped,
/// and the greatest error of a flow's time, both in percent.
fn skipping(scenario: Scenario) -> String {
    let (_, exact) = ended(&scenario);
    let (sim, flows) = ended(&Scenario { fidelity: Some(Fidelity::Skip), ..scenario });
    let took = |flow: &FlowRecord| (flow.end.expect("every flow ends") - flow.start).as_ps() as f64;
    let times = |flows: &[FlowRecord]| -> BTreeMap<u32, f64> {
        flows.iter().map(|flow| (flow.flow, took(flow))).collect()
    };
    let (exact, found) = (times(&exact), times(&flows));
    assert_eq!(found.len(), exact.len());
    let errors = found.iter().map(|(flow, time)| (time / exact[flow] - 1.0).abs());
    let worst = errors.fold(0.0, f64::max);
    let (skipped, hops) = (sim.skipped_hops().expect("it skips"), sim.progress().packet_hops);
    assert!(worst < 0.01, "every flow is within a hundredth: {worst}");
    format!("{:>9.1} {:>9.4}", 100.0 * skipped as f64 / (skipped + hops) as f64, 100.0 * worst)
}

const HEAD: &str = " flows    mean us     p99 us     all us  goodput  drops  marks resent   rtos queue";

/// Names, networks and jobs.
fn standard() -> Vec<(&'static str, Topology, Work)> {
    let single = |hosts| Topology::SingleSwitch { hosts, host_link: LINK };
    let leaf_spine = |leaves, spines| Topology::LeafSpine {
        leaves,
        spines,
        host_link: LINK,
        uplink: LINK,
        uplinks_per_spine: 1,
    };
    let incast = |n: u32, bytes, rounds| {
        Work::Incast(Incast { senders: hosts("host", 0..n), receiver: format!("host{n}"), bytes, rounds })
    };
    let permutation = |n, bytes| Work::Permutation(Permutation { hosts: hosts("host", 0..n), bytes });
    let shuffle = Work::AllToAll(AllToAll {
        hosts: hosts("host", 0..8),
        bytes: 500_000,
        parallel: 4,
        order: Order::Rotated,
        skew: Time::ZERO,
    });
    let calls = Work::Rpc(Box::new(Rpc {
        clients: hosts("host", 0..2),
        servers: hosts("host", 2..12),
        arrivals: Arrivals::Closed { callers: 4, think: Time::from_us(200) },
        calls: 100,
        fan_out: 8,
        connections: 64,
        request: vec![(300, 1.0)],
        reply: vec![(1_000, 0.5), (60_000, 1.0)],
        service: Time::from_us(20),
        deadline: None,
    }));
    vec![
        (
            "lone flow",
            single(2),
            Work::Bulk(Bulk { pairs: vec![("host0".into(), "host1".into())], bytes: 10_000_000 }),
        ),
        ("incast 4, 1 MB", single(5), incast(4, 1_000_000, 3)),
        ("incast 32, 1 MB", single(33), incast(32, 1_000_000, 1)),
        ("incast 32, 20 kB, 5 rounds", single(33), incast(32, 20_000, 5)),
        ("permutation 16", leaf_spine(vec![4; 4], 4), permutation(16, 3_000_000)),
        ("shuffle 8, 2:1", leaf_spine(vec![4; 2], 2), shuffle),
        ("calls, fan-out 8", single(12), calls),
    ]
}

const SENDERS: [Congestion; 5] =
    [Congestion::Reno, Congestion::Cubic, Congestion::Dctcp, Congestion::Htcp, Congestion::Bbr];

/// The table of all standard scenarios and senders.
fn table(head: &str, line: impl Fn(Scenario) -> String) -> String {
    let mut text = String::new();
    for congestion in SENDERS {
        writeln!(text, "{congestion:<28?}{head}").unwrap();
        for (name, topology, work) in standard() {
            writeln!(text, "{name:<28}{}", line(scenario(topology, congestion, work))).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn standard_scenarios() {
    compare("standard.txt", &table(HEAD, |scenario| line(&scenario)));
}

#[test]
fn standard_scenarios_with_steady_states_skipped() {
    compare("skipped.txt", &table(" skipped %   error %", skipping));
}

fn compare(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == expected,
        "{name} differs; if the new results are right, run with UPDATE_GOLDEN=1\nexpected:\n{expected}\ngot:\n{text}"
    );
}
