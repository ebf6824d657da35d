//! Packets that come to a host are taken, or counted as lost there, at every moment; and a host that is down
//! neither takes nor sends any. Streams are opened, closed, aborted and left behind at random meanwhile.

use crate::support::{Cluster, LINK};
use fabric::{Discard, Graph, Link, LinkProps, NodeId, PortId};
use process::{Addr, Context, Event, HostId, Payload, Process, StreamId};
use proptest::prelude::*;
use rand::RngExt;
use sim::{Change, LinkChange, Pause, Sim};
use units::testing::cases;
use units::{Rate, Time};

const HOSTS: u32 = 4;
/// The port that all listen to; the next one is nobody's.
const PORT: u16 = 7;

/// Does something at random every now and then, and with whatever it is told.
struct Erratic {
    left: u32,
    streams: Vec<StreamId>,
}

impl Erratic {
    fn act(&mut self, cx: &mut dyn Context) {
        let to = Addr {
            host: HostId(cx.rng().random_range(0..HOSTS)),
            port: PORT + u16::from(cx.rng().random_bool(0.1)),
        };
        let bytes = Payload::Zeros(cx.rng().random_range(1..60_000));
        match cx.rng().random_range(0..6) {
            0 | 1 => {
                let stream = cx.open(to, 0);
                cx.write(stream, bytes);
                self.streams.push(stream);
            }
            2 => (0..cx.rng().random_range(1..40)).for_each(|_| cx.send(9, to, Payload::Zeros(1400))),
            3 => self.with_one(cx, |stream, cx| _ = cx.write(stream, bytes.clone())),
            4 => self.with_one(cx, |stream, cx| cx.close(stream)),
            _ => self.with_one(cx, |stream, cx| cx.abort(stream)),
        }
    }

    fn with_one(&mut self, cx: &mut dyn Context, act: impl Fn(StreamId, &mut dyn Context)) {
        if !self.streams.is_empty() {
            let index = cx.rng().random_range(0..self.streams.len());
            act(self.streams[index], cx);
        }
    }
}

impl Process for Erratic {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                cx.bind(PORT);
                cx.listen(PORT);
                self.streams.clear();
            }
            Event::Timer { .. } => self.act(cx),
            Event::Accepted { stream, .. } => {
                if cx.rng().random_bool(0.5) {
                    cx.drain(stream);
                }
                return self.streams.push(stream);
            }
            Event::Readable { stream } => {
                let most = cx.rng().random_range(1..100_000);
                if cx.read(stream, most).end || cx.rng().random_bool(0.05) {
                    cx.close(stream);
                }
                return;
            }
            Event::Closed { stream, .. } => return self.streams.retain(|own| *own != stream),
            _ => return,
        }
        if self.left > 0 {
            self.left -= 1;
            let pause = Time::from_ns(cx.rng().random_range(1..80_000));
            cx.set_timer(0, pause);
        }
    }
}

/// Two switches. Each host hangs on one of them, the first one on both.
fn graph(rate: Rate) -> Graph {
    let names = |kind: &str, count| (0..count).map(|n| format!("{kind}{n}")).collect();
    let (slow, between) = (LinkProps { rate, ..LINK }, NodeId(HOSTS + 1));
    let link = |a, b, props| Link { a: NodeId(a), b, ab: props, ba: props };
    let mut links: Vec<Link> = (0..HOSTS).map(|host| link(host, NodeId(HOSTS + host % 2), slow)).collect();
    links.extend([link(0, between, LINK), link(HOSTS, between, LINK)]);
    Graph::new(names("host", HOSTS), names("switch", 2), links).unwrap()
}

/// A fault of a host or its first link that begins and ends at these microseconds.
#[derive(Clone, Debug)]
struct Fault {
    host: u32,
    kind: u8,
    from: u64,
    takes: u64,
}

impl Fault {
    fn changes(&self) -> [(Time, Change); 2] {
        let Fault { host, kind, from, takes } = *self;
        let link = |change| Change::Link(NodeId(host), NodeId(HOSTS + host % 2), change);
        let (begins, ends) = match kind {
            0..4 => (Change::Crash(host), Change::Restart(host)),
            4 => (link(LinkChange::Down), link(LinkChange::Up)),
            5 => (link(LinkChange::Loss(0.2)), link(LinkChange::Loss(0.0))),
            _ => (link(LinkChange::Corrupt(0.2)), link(LinkChange::Corrupt(0.0))),
        };
        [(Time::from_us(from), begins), (Time::from_us(from + takes), ends)]
    }
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = (0..HOSTS, 0..7u8, 0..4000u64, 1..2000u64);
    let fault = fault.prop_map(|(host, kind, from, takes)| Fault { host, kind, from, takes });
    prop::collection::vec(fault, 0..12)
}

/// Packets that have come to a host by its links and its loopback, damaged ones left out; and those that have
/// gone into its own ports.
fn crossed(sim: &mut Sim, host: u32) -> (u64, u64) {
    let (now, node) = (sim.progress().now, NodeId(host));
    let own: Vec<PortId> = sim.network().ports_of(node).collect();
    let (mut came, mut gone) = (0, 0);
    for port in own {
        let network = sim.network();
        let to_host = network.reverse(port);
        let link = network.counters(now, to_host);
        let cut = link.discards.of(Discard::Down) - link.abandoned_packets;
        let damaged = network.counters(now, port).discards.of(Discard::Corrupt);
        let transit = network.in_transit(to_host);
        came += link.enqueued_packets - transit - link.discards.of(Discard::Lost) - cut - damaged;
        let sent = network.counters(now, port);
        gone += sent.enqueued_packets + sent.abandoned_packets + sent.discards.of(Discard::Tail);
    }
    (came, gone)
}

/// Looks whether `host` has taken or counted as lost what came to it, apart from what may wait in it for a
/// core. If it is down: its crashes, and packets that it has taken and sent.
fn look(sim: &mut Sim, host: u32, some_wait: bool) -> Option<(u64, u64, u64)> {
    let (came, gone) = crossed(sim, host);
    let record = sim.host_record(host);
    let known = record.received_packets + record.drops.down;
    assert!(known == came || (some_wait && known < came), "{known} of {came} packets at host {host}");
    (!sim.is_up(HostId(host))).then_some((record.crashes, record.received_packets, gone))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn each_packet_is_taken_or_counted(
        seed in any::<u64>(), faults in faults(), cost in prop_oneof![Just(0), 1..40u64],
        mbps in 20..2000u64, step in 1..200u64,
    ) {
        let mut cluster = Cluster::new(graph(Rate::from_bps(mbps * 1_000_000)));
        (cluster.seed, cluster.packet_cost) = (seed, Time::from_us(cost));
        cluster.faults = faults.iter().flat_map(Fault::changes).collect();
        // A process that does not read is asked for ever whether there is room.
        cluster.until = Time::from_secs(20);
        let process = |host| {
            let erratic: Box<dyn Process> = Box::new(Erratic { left: 100, streams: Vec::new() });
            (HostId(host), erratic)
        };
        let mut sim = cluster.processes((0..HOSTS).map(process).collect());
        let mut down = [None; HOSTS as usize];
        let mut pause = Pause::Running;
        while pause == Pause::Running {
            pause = sim.run(step);
            for host in 0..HOSTS {
                let now = look(&mut sim, host, cost > 0 && pause != Pause::Idle);
                let before = std::mem::replace(&mut down[host as usize], now);
                if let (Some(before), Some(now)) = (before, now) && before.0 == now.0 {
                    prop_assert_eq!(before, now, "host {} is down", host);
                }
            }
        }
        prop_assert!(matches!(pause, Pause::Idle | Pause::Until), "{:?}", pause);
    }
}
