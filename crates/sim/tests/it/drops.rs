//! What becomes of packets that do not arrive: hosts and ports count each of them once.

use crate::support::{Cluster, LINK, bulk, run};
use fabric::topology::single_switch;
use fabric::{Discard, NodeId, PortId};
use process::{Addr, Context, Event, HostId, Payload, Process};
use sim::{Change, DatagramRecord, HostDrops, LinkChange, Sim};
use units::Time;

/// Datagrams that are sent, one every 100 µs.
const COUNT: u64 = 1000;
const EVERY: Time = Time::from_us(100);
const SWITCH: NodeId = NodeId(2);

/// Sends [`COUNT`] datagrams to a port of host 1.
struct Sender {
    left: u64,
}

impl Process for Sender {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if matches!(event, Event::Start | Event::Timer { .. }) && self.left > 0 {
            self.left -= 1;
            cx.send(9, Addr { host: HostId(1), port: 7 }, Payload::Zeros(1000));
            cx.set_timer(0, EVERY);
        }
    }
}

/// Listens to a port.
struct Receiver {
    port: u16,
}

impl Process for Receiver {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if event == Event::Start {
            cx.bind(self.port);
        }
    }
}

fn cluster(faults: &[(Time, Change)]) -> Cluster {
    Cluster { faults: faults.to_vec(), ..Cluster::new(single_switch(2, LINK).unwrap()) }
}

/// A run in which host 0 sends to port 7 of host 1, which listens to `port`.
fn datagrams(cluster: &Cluster, port: u16) -> Sim {
    cluster.processes(vec![
        (HostId(0), Box::new(Sender { left: COUNT })),
        (HostId(1), Box::new(Receiver { port })),
    ])
}

fn link(host: u32, change: LinkChange) -> Change {
    Change::Link(NodeId(host), SWITCH, change)
}

/// Packets that all ports discarded.
fn discarded(sim: &mut Sim) -> u64 {
    let now = sim.progress().now;
    let ports: Vec<PortId> = sim.network().ports().collect();
    ports.into_iter().map(|port| sim.network().counters(now, port).discards.total()).sum()
}

/// The only pair's totals, once every datagram that was sent is accounted for.
fn accounted(sim: &mut Sim) -> DatagramRecord {
    let pair = sim.datagram_records()[0];
    let HostDrops { no_route, down, no_port } = pair.drops;
    assert_eq!(pair.sent_packets, COUNT);
    let gone = discarded(sim) + no_route + down + no_port;
    assert_eq!(pair.sent_packets, pair.received_packets + gone, "{pair:?}");
    let hosts = [0, 1].map(|host| sim.host_record(host).drops);
    assert_eq!([hosts[0].no_route, hosts[1].no_route], [no_route, 0]);
    assert_eq!((hosts[1].down, hosts[1].no_port), (down, no_port));
    pair
}

#[test]
fn a_host_receives_what_its_link_delivers() {
    let half = Time::from_ms(50);
    let cases = [
        link(1, LinkChange::Loss(0.5)),
        link(1, LinkChange::Corrupt(0.5)),
        link(1, LinkChange::Down),
        Change::Crash(1),
    ];
    for fault in cases {
        let mut sim = datagrams(&cluster(&[(half, fault)]), 7);
        let port = sim.network().ports_of(NodeId(1)).next().unwrap();
        sim.sample(Time::from_ms(1), [port], false);
        let (_, records) = run(&mut sim);
        let pair = accounted(&mut sim);
        let host = sim.host_record(1);
        assert!(pair.received_packets < COUNT * 4 / 5, "{fault:?}: {pair:?}");
        assert_eq!(host.received_packets, pair.received_packets, "{fault:?}");
        assert_eq!(host.totals.received_bytes, pair.received_bytes, "{fault:?}");
        let series = records.hosts.iter().filter(|(_, host, _)| *host == 1);
        let sampled: u64 = series.map(|(.., sample)| sample.received_bytes).sum();
        assert_eq!(sampled, pair.received_bytes, "{fault:?}");
    }
}

#[test]
fn what_has_no_route_is_counted_at_its_host() {
    for cut in [0, 1] {
        let faults = [
            (Time::from_ms(20), link(cut, LinkChange::Down)),
            (Time::from_ms(60), link(cut, LinkChange::Up)),
        ];
        let mut sim = datagrams(&cluster(&faults), 7);
        run(&mut sim);
        let pair = accounted(&mut sim);
        // One every 100 µs for 40 ms.
        assert_eq!(pair.drops, HostDrops { no_route: 400, ..HostDrops::default() });
    }
}

#[test]
fn segments_without_a_route_are_counted_at_their_host() {
    let cluster = cluster(&[
        (Time::from_us(500), link(0, LinkChange::Down)),
        (Time::from_secs(3), link(0, LinkChange::Up)),
    ]);
    let mut sim = cluster.job(&bulk(&[(0, 1)], 10_000_000));
    let (_, records) = run(&mut sim);
    let (now, port) = (sim.progress().now, sim.network().ports_of(NodeId(0)).next().unwrap());
    let counters = sim.network().counters(now, port);
    let (flow, no_route) = (&records.flows[0], sim.host_record(0).drops.no_route);
    let sent = counters.enqueued_packets + counters.abandoned_packets + no_route;
    // SYN, FIN and the acknowledgements of the other end's carry no data.
    assert!((flow.sent_packets..flow.sent_packets + 5).contains(&sent), "{no_route}, {counters:?}, {flow:?}");
    assert!(no_route >= flow.timeouts && flow.timeouts > 3, "{no_route}, {flow:?}");
}

#[test]
fn a_datagram_for_a_port_that_is_not_bound_is_counted() {
    let mut sim = datagrams(&cluster(&[]), 8);
    run(&mut sim);
    let pair = accounted(&mut sim);
    assert_eq!(pair.drops, HostDrops { no_port: COUNT, ..HostDrops::default() });
    // It came to the host all the same.
    assert_eq!(sim.host_record(1).received_packets, COUNT);
}

#[test]
fn what_waits_in_a_host_that_crashes_is_counted() {
    let mut slow = cluster(&[(Time::from_ms(50), Change::Crash(1))]);
    slow.packet_cost = Time::from_us(200);
    let mut sim = datagrams(&slow, 7);
    run(&mut sim);
    let pair = accounted(&mut sim);
    // It takes half of what comes; half of the first 500 wait when it crashes, and the other 500 come later.
    assert!((248..=252).contains(&pair.received_packets), "{pair:?}");
    assert_eq!(pair.drops.down, COUNT - pair.received_packets);
}

/// Sends a datagram of each size from 999 to 1001 bytes to its own host.
struct Own;

impl Process for Own {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if event == Event::Start {
            cx.bind(7);
            for bytes in 999..1002 {
                cx.send(9, Addr { host: cx.host(), port: 7 }, Payload::Zeros(bytes - 28));
            }
        }
    }
}

#[test]
fn a_host_counts_what_is_too_large_for_its_loopback() {
    let mut sim = Cluster { mtu: 1000, ..cluster(&[]) }.processes(vec![(HostId(0), Box::new(Own))]);
    run(&mut sim);
    let pair = sim.datagram_records()[0];
    assert_eq!((pair.sent_packets, pair.received_packets), (3, 2));
    assert_eq!([0, 1].map(|host| sim.host_record(host).loopback_drops), [1, 0]);
    assert_eq!(discarded(&mut sim), 0, "no port of the network has seen it");
}

#[test]
fn a_port_counts_datagrams_larger_than_its_mtu() {
    let mut sim = datagrams(&Cluster { mtu: 1000, ..cluster(&[]) }, 7);
    run(&mut sim);
    let pair = accounted(&mut sim);
    assert_eq!(pair.received_packets, 0);
    let (now, port) = (sim.progress().now, sim.network().ports_of(NodeId(0)).next().unwrap());
    assert_eq!(sim.network().counters(now, port).discards.of(Discard::Mtu), COUNT);
}
