//! What a port does with packets: times, thresholds, classes, shared memory, changes of the link.

use crate::support::{Lab, Load, port};
use fabric::topology::{dumbbell, single_switch};
use fabric::{
    Buffer, Depth, Discard, Ecn, Fabric, Framing, Graph, LinkProps, Queue, Scheduler, SwitchConfig,
};
use proptest::prelude::*;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };

fn lab(graph: &Graph, config: &SwitchConfig) -> Lab {
    Lab::new(Fabric::new(graph, Framing::ETHERNET, 1, |_| config.clone()))
}

fn load(at_ns: u64, from: u32, to: u32, bytes: u16) -> Load {
    Load { at: Time::from_ns(at_ns), from, to, bytes, class: 0, ecn: Ecn::Ect0 }
}

fn packets(limit: u64) -> SwitchConfig {
    SwitchConfig { buffer: Buffer::Static { limit: Depth::Packets(limit) }, ..SwitchConfig::default() }
}

#[test]
fn a_packet_takes_its_wire_time_and_the_delay_of_each_link() {
    let graph = single_switch(2, LINK).unwrap();
    let mut lab = lab(&graph, &packets(10));
    lab.play(&[load(0, 0, 1, 1500)]);
    // 1538 bytes at 0.8 ns and 1 µs, twice.
    assert_eq!(lab.delivered[0].0.as_ps(), 2 * (1538 * 800 + 1_000_000));
    let mut lab = self::lab(&graph, &packets(10));
    lab.play(&[load(0, 0, 1, 40)]);
    // Padded to the least Ethernet frame: 84 bytes on the wire.
    assert_eq!(lab.delivered[0].0.as_ps(), 2 * (84 * 800 + 1_000_000));
}

#[test]
fn a_full_port_drops_the_tail() {
    let graph = single_switch(3, LINK).unwrap();
    let mut lab = lab(&graph, &packets(4));
    // Two hosts at full rate into one: the queue grows by a packet every two.
    let loads: Vec<Load> =
        (0..40).flat_map(|i| [load(i * 1231, 0, 2, 1500), load(i * 1231, 1, 2, 1500)]).collect();
    lab.play(&loads);
    let out = port(&graph, &lab.fabric, "switch0", "host2");
    let counters = lab.fabric.counters(lab.now, out);
    assert_eq!(counters.queue_max_packets, 4);
    assert!(counters.discards.of(Discard::Tail) > 30);
    assert_eq!(lab.delivered.len() + lab.log.discarded.len(), loads.len());
}

#[test]
fn step_marking_marks_above_k_and_drops_who_cannot_be_marked() {
    let graph = single_switch(3, LINK).unwrap();
    let config = SwitchConfig { queue: Queue::Step { threshold: Depth::Packets(2) }, ..packets(100) };
    let burst = |ecn| {
        let loads: Vec<Load> =
            (0..10).flat_map(|_| [0, 1].map(|from| Load { ecn, ..load(0, from, 2, 1500) })).collect();
        let mut lab = lab(&graph, &config);
        lab.play(&loads);
        lab
    };
    let capable = burst(Ecn::Ect0);
    assert_eq!(capable.delivered.len(), 20);
    assert!(capable.delivered.iter().filter(|(_, _, ecn)| *ecn == Ecn::Ce).count() > 5);
    let incapable = burst(Ecn::NotEct);
    assert!(incapable.log.discarded.iter().all(|(_, _, _, reason)| *reason == Discard::Early));
    assert!(incapable.log.discarded.len() > 5);
}

#[test]
fn strict_priority_first_then_shares_by_weight() {
    let graph = single_switch(4, LINK).unwrap();
    let mut weights = [1; 8];
    weights[1] = 3;
    let config = SwitchConfig { scheduler: Scheduler::Ets { strict: 1 << 7, weights }, ..packets(10_000) };
    let mut lab = lab(&graph, &config);
    let mut loads = Vec::new();
    for _ in 0..400 {
        for (from, class) in [(0, 0), (1, 1), (2, 7)] {
            loads.push(Load { class, ..load(0, from, 3, 1500) });
        }
    }
    lab.play(&loads);
    let order: Vec<u8> = lab.delivered.iter().map(|(_, number, _)| loads[*number as usize].class).collect();
    // Class 7 comes at the rate of the port, so it takes all of it but the first packets.
    assert!(order[4..390].iter().all(|class| *class == 7), "{:?}", &order[..20]);
    let rest = &order[410..710];
    let heavy = rest.iter().filter(|class| **class == 1).count();
    assert!((220..=230).contains(&heavy), "{heavy} of 300 at weights 3 to 1");
}

#[test]
fn one_hot_port_takes_its_share_of_the_pool() {
    let graph = single_switch(9, LINK).unwrap();
    let buffer = Buffer::Shared {
        size: Bytes::new(1_000_000),
        alpha: 1.0,
        reserve: Bytes::new(0),
        cell: Bytes::new(1),
    };
    let mut lab = lab(&graph, &SwitchConfig { buffer, ..SwitchConfig::default() });
    let loads: Vec<Load> = (0..200).flat_map(|_| (0..8).map(|from| load(0, from, 8, 1500))).collect();
    lab.play(&loads);
    let out = port(&graph, &lab.fabric, "switch0", "host8");
    let longest = lab.fabric.counters(lab.now, out).queue_max_bytes;
    // alpha / (1 + alpha) of it.
    assert!((497_000..=500_000).contains(&longest), "{longest}");
}

#[test]
fn a_change_of_rate_moves_what_waits() {
    let graph = dumbbell(1, 1, LINK, LINK).unwrap();
    let mut lab = lab(&graph, &packets(100));
    for number in 0..4 {
        lab.send(number, load(0, 0, 1, 1500));
    }
    let nic = port(&graph, &lab.fabric, "left0", "switch0");
    lab.run(Time::from_ns(100));
    lab.fabric.set_rate(lab.now, nic, Rate::from_gbps(1), &mut lab.log);
    lab.run(Time::from_secs(1));
    let gaps: Vec<u64> = lab.delivered.windows(2).map(|w| (w[1].0 - w[0].0).as_ps()).collect();
    // The packet on the wire ends as it began; the others leave at 8 ns a byte.
    assert_eq!(gaps, [1538 * 8000; 3]);
}

#[test]
fn a_link_that_goes_down_loses_what_it_holds_and_no_more() {
    let graph = dumbbell(1, 1, LINK, LINK).unwrap();
    let mut lab = lab(&graph, &packets(100));
    for number in 0..10 {
        lab.send(number, load(0, 0, 1, 1500));
    }
    let nic = port(&graph, &lab.fabric, "left0", "switch0");
    lab.run(Time::from_us(4));
    lab.fabric.take_down(lab.now, nic, &mut lab.log);
    lab.run(Time::from_us(100));
    assert!(!lab.send(10, load(0, 0, 1, 1500)), "no way is left");
    lab.fabric.bring_up(lab.now, nic);
    assert!(lab.send(11, load(0, 0, 1, 1500)));
    lab.run(Time::from_secs(1));
    assert_eq!(lab.delivered.len() + lab.log.discarded.len(), 11);
    assert_eq!(lab.delivered.last().unwrap().1, 11);
    assert_eq!(lab.fabric.in_transit(nic), 0);
}

/// Kinds of ports: first-in first-out, classes, shared memory.
fn kinds() -> [SwitchConfig; 3] {
    let (size, cell) = (Bytes::new(9_000_000), Bytes::new(1));
    let shared = Buffer::Shared { size, alpha: 8.0, reserve: Bytes::new(0), cell };
    let ets = Scheduler::Ets { strict: 0, weights: [1; 8] };
    [
        packets(1000),
        SwitchConfig { scheduler: ets, ..packets(1000) },
        SwitchConfig { buffer: shared, ..SwitchConfig::default() },
    ]
}

#[test]
fn what_never_left_is_not_counted_as_sent() {
    let graph = single_switch(3, LINK).unwrap();
    for config in kinds() {
        let mut lab = lab(&graph, &config);
        for number in 0..400 {
            lab.send(number, load(0, number % 2, 2, 1500));
        }
        let out = port(&graph, &lab.fabric, "switch0", "host2");
        // In the middle of the 81st packet of 1.2304 µs.
        lab.run(Time::from_ns(101_000));
        let before = lab.fabric.counters(lab.now, out);
        lab.fabric.take_down(lab.now, out, &mut lab.log);
        lab.run(Time::from_ms(1));
        let later = lab.fabric.counters(lab.now, out);
        assert_eq!((later.sent_packets, later.busy), (before.sent_packets, before.busy), "{config:?}");
        let lost = later.discards.of(Discard::Down);
        let waiting = before.enqueued_packets - before.sent_packets;
        let delivered = lab.delivered.len() as u64;
        // One packet is being sent and one may be on the wire: sent, and lost.
        assert!((1..=2).contains(&(later.sent_packets - delivered)), "{config:?}");
        assert_eq!(later.sent_packets - delivered, lost - waiting, "{config:?}");
        assert!(later.busy <= Time::from_ns(101_000) && later.busy > Time::from_ns(98_000), "{}", later.busy);
    }
}

#[test]
fn busy_time_is_that_of_the_rate_at_which_packets_left() {
    let graph = single_switch(3, LINK).unwrap();
    for config in kinds() {
        let mut lab = lab(&graph, &config);
        for number in 0..40 {
            lab.send(number, load(0, number % 2, 2, 1500));
        }
        let out = port(&graph, &lab.fabric, "switch0", "host2");
        lab.run(Time::from_ns(5_000));
        lab.fabric.set_rate(lab.now, out, Rate::from_gbps(1), &mut lab.log);
        lab.run(Time::from_ns(100_000));
        // The port never rests once the first packet has come, at 2.23 µs; never more than the time that has
        // passed.
        let busy = lab.fabric.counters(lab.now, out).busy.as_ps();
        let first = 1538 * 800 + 1_000_000;
        assert!(busy.abs_diff(100_000_000 - first) < 100, "{busy}, {config:?}");
    }
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0)];
    let one = (0u64..3_000, 0u32..3, 40u16..9000, ecn);
    proptest::collection::vec(one, 1..120).prop_map(|items| {
        let mut at = 0;
        let load = |(gap, from, bytes, ecn)| {
            at += gap;
            Load { at: Time::from_ns(at), from, to: 3, bytes, class: 0, ecn }
        };
        items.into_iter().map(load).collect()
    })
}

proptest! {
    /// The short way (one event per hop) is exact: the same arrivals, marks and drops as when every
    /// packet leaves by an event of its own.
    #[test]
    fn the_short_way_is_exact(loads in loads(), limit in 1u64..30, k in 0u64..10, bytes in any::<bool>()) {
        let graph = single_switch(4, LINK).unwrap();
        let depth = |n: u64| if bytes { Depth::Bytes(n * 3000) } else { Depth::Packets(n) };
        let short = SwitchConfig {
            buffer: Buffer::Static { limit: depth(limit) },
            queue: Queue::Step { threshold: depth(k) },
            ..SwitchConfig::default()
        };
        let long = SwitchConfig { scheduler: Scheduler::Ets { strict: 0, weights: [1; 8] }, ..short.clone() };
        let (mut a, mut b) = (lab(&graph, &short), lab(&graph, &long));
        a.play(&loads);
        b.play(&loads);
        prop_assert_eq!(&a.delivered, &b.delivered);
        prop_assert_eq!(&a.log.discarded, &b.log.discarded);
        let out = port(&graph, &a.fabric, "switch0", "host3");
        let (x, y) = (a.fabric.counters(a.now, out), b.fabric.counters(b.now, out));
        prop_assert_eq!(x, y);
    }
}
