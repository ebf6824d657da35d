//! Hosts that are not simulated: when their packets come, which are marked, and how PFC holds them back.

use crate::support::{Cluster, LINK};
use fabric::topology::single_switch;
use fabric::{Buffer, Depth, Ecn, PfcConfig, Queue, Scheduler, Xoff};
use process::{Context, Event, HostId, Process};
use sim::{Outward, Pause, RawPacket, Sim};
use units::{Bytes, Time};

const LOSSLESS: u8 = 3;

/// Keeps the run from ending.
struct Waits;

impl Process for Waits {
    fn handle(&mut self, _: Event, _: &mut dyn Context) {}
}

fn packet(to: u32, bytes: usize) -> RawPacket {
    let data = vec![0; bytes].into();
    RawPacket {
        to: HostId(to),
        ports: (1, 2),
        protocol: 17,
        class: LOSSLESS,
        ecn: Ecn::Ect0,
        data,
        late: Time::ZERO,
    }
}

/// A host that sends packets as a network card does: the next one once the one before has left.
struct Card {
    host: HostId,
    to: u32,
    left: usize,
    due: Option<Time>,
}

impl Card {
    fn go_on(&mut self, sim: &mut Sim) {
        let now = sim.progress().now;
        let has_left = self.due.map_or_else(|| !sim.raw_waits(self.host), |due| due <= now);
        if has_left && self.left > 0 {
            self.left -= 1;
            self.due = sim.send_raw(self.host, packet(self.to, 1500));
            if let Some(due) = self.due {
                sim.wake_at(self.host, due);
            }
        }
    }
}

/// Runs until nothing happens any more; when packets came, and whether they were marked.
fn run(sim: &mut Sim, cards: &mut [Card]) -> Vec<(Time, HostId, bool)> {
    let mut came = Vec::new();
    loop {
        let pause = sim.run(1 << 20);
        for outward in sim.take_outward() {
            match outward {
                Outward::Packet(packet) => came.push((sim.progress().now, packet.to, packet.marked)),
                Outward::Wake(host) => {
                    cards.iter_mut().filter(|card| card.host == host).for_each(|card| card.go_on(sim));
                }
            }
        }
        if !matches!(pause, Pause::Running | Pause::Outward) {
            return came;
        }
    }
}

fn start(sim: &mut Sim, cards: &[Card]) {
    cards.iter().for_each(|card| sim.wake_at(card.host, Time::ZERO));
}

fn card(host: u32, to: u32, packets: usize) -> Card {
    Card { host: HostId(host), to, left: packets, due: Some(Time::ZERO) }
}

#[test]
fn a_packet_takes_what_arithmetic_says() {
    let mut sim = Cluster::new(single_switch(2, LINK).unwrap()).processes(vec![(HostId(0), Box::new(Waits))]);
    let mut cards = [card(0, 1, 3)];
    start(&mut sim, &cards);
    let came = run(&mut sim, &mut cards);
    // 1538 bytes on the wire at 10 Gb/s, twice, and twice a microsecond; the next ones right behind.
    let wire = Time::from_ps(1538 * 800);
    let expected = |n: u64| Time::from_us(2) + wire + wire + Time::from_ps(n * wire.as_ps());
    assert_eq!(came.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [expected(0), expected(1), expected(2)]);
}

#[test]
fn a_switch_marks_them() {
    let mut cluster = Cluster::new(single_switch(3, LINK).unwrap());
    cluster.switch.queue = Queue::Step { threshold: Depth::Packets(5) };
    let mut sim = cluster.processes(vec![(HostId(0), Box::new(Waits))]);
    let mut cards = [card(0, 2, 20), card(1, 2, 20)];
    start(&mut sim, &cards);
    let came = run(&mut sim, &mut cards);
    assert_eq!(came.len(), 40);
    let marked = came.iter().filter(|(.., marked)| *marked).count();
    assert!((20..40).contains(&marked), "{marked}: the queue is above five packets after ten");
}

#[test]
fn a_pause_holds_them_back_and_loses_none() {
    let mut cluster = Cluster::new(single_switch(3, LINK).unwrap());
    let xoff = Xoff::Static { limit: Bytes::new(6_000) };
    let pfc = PfcConfig { classes: 1 << LOSSLESS, xoff, xon: Bytes::new(3_000), ..PfcConfig::default() };
    cluster.switch.buffer = Buffer::Shared {
        size: Bytes::new(2_000_000),
        alpha: 8.0,
        cell: Bytes::new(1),
        reserve: Bytes::new(0),
    };
    cluster.switch.scheduler = Scheduler::Ets { strict: 0, weights: [1; 8] };
    cluster.switch.pfc = Some(pfc);
    let mut sim = cluster.processes(vec![(HostId(0), Box::new(Waits))]);
    let mut cards = [card(0, 2, 200), card(1, 2, 200)];
    start(&mut sim, &cards);
    let came = run(&mut sim, &mut cards);
    assert_eq!(came.len(), 400);
    let ports: Vec<_> = sim.network().ports().collect();
    let now = sim.progress().now;
    assert!(ports.iter().any(|port| {
        sim.network().pause_counters(now, *port, LOSSLESS).is_some_and(|c| c.paused > Time::ZERO)
    }));
}

#[test]
fn what_goes_nowhere_or_to_a_host_that_takes_nothing_is_counted() {
    let mut sim = Cluster::new(single_switch(2, LINK).unwrap()).processes(vec![(HostId(0), Box::new(Waits))]);
    sim.drop_unroutable(HostId(0));
    sim.refuse_raw(HostId(1));
    assert_eq!((sim.host_record(0).drops.no_route, sim.host_record(1).drops.no_port), (1, 1));
}

#[test]
fn a_run_goes_on_to_a_time_and_waits_for_what_comes_from_outside() {
    let mut cluster = Cluster::new(single_switch(2, LINK).unwrap());
    cluster.until = Time::from_ms(3);
    let mut sim = cluster.processes(vec![(HostId(0), Box::new(Waits))]);
    let (start, later) = (Time::from_ms(1), Time::from_ms(2));
    assert_eq!((sim.run_to(start, 10), sim.progress().now), (Pause::Running, start));
    sim.send_raw(HostId(0), packet(1, 1500));
    // Twice its time on the wire and the delay of both links.
    let came = start + Time::from_us(2) + Time::from_ps(2 * 1538 * 800);
    assert_eq!((sim.run_to(later, 10), sim.progress().now), (Pause::Outward, came));
    assert!(matches!(&sim.take_outward()[..], [Outward::Packet(packet)] if packet.to == HostId(1)));
    assert_eq!((sim.run_to(later, 10), sim.progress().now), (Pause::Running, later));
    assert_eq!((sim.run_to(Time::from_ms(4), 10), sim.progress().now), (Pause::Until, Time::from_ms(3)));
    let mut sim = Cluster::new(single_switch(2, LINK).unwrap()).processes(vec![(HostId(0), Box::new(Waits))]);
    sim.run_to(start, 10);
    sim.finish(0, HostId(0));
    assert_eq!((sim.run_to(later, 10), sim.progress().now), (Pause::Finished, start));
}
