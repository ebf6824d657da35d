//! Priority-based flow control (802.1Qbb): no loss with enough headroom and loss with less, hysteresis,
//! pauses that expire, classes apart, the watchdog's times, deadlocks.

use crate::support::{Lab, Load, port};
use fabric::topology::{dumbbell, fat_tree, leaf_spine, single_switch};
use fabric::{
    Buffer, Discard, Ecn, Fabric, Framing, Graph, Link, LinkProps, NodeId, PfcConfig, PortId, Scheduler,
    SwitchConfig, WatchdogAction, WatchdogConfig, Xoff, headroom_needed, pause_time,
};
use proptest::prelude::*;
use units::testing::cases;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
const LOSSLESS: u8 = 3;
const FOREVER: Time = Time::from_secs(1);

fn switch(size: u64, pfc: PfcConfig) -> SwitchConfig {
    let (size, reserve, cell) = (Bytes::new(size), Bytes::new(0), Bytes::new(1));
    SwitchConfig {
        buffer: Buffer::Shared { size, alpha: 8.0, reserve, cell },
        scheduler: Scheduler::Ets { strict: 0, weights: [1; 8] },
        pfc: Some(pfc),
        ..SwitchConfig::default()
    }
}

fn pfc(xoff: u64, xon: u64, headroom: u64) -> PfcConfig {
    let (xoff, xon, headroom) =
        (Xoff::Static { limit: Bytes::new(xoff) }, Bytes::new(xon), Bytes::new(headroom));
    PfcConfig { classes: 1 << LOSSLESS, xoff, xon, headroom, ..PfcConfig::default() }
}

fn lab(graph: &Graph, config: &SwitchConfig) -> Lab {
    Lab::new(Fabric::new(graph, Framing::ETHERNET, 1, |_| config.clone()))
}

fn load(from: u32, to: u32, class: u8) -> Load {
    Load { at: Time::ZERO, from, to, bytes: 1500, class, ecn: Ecn::Ect0 }
}

/// `count` packets from each of `from` at once.
fn burst(lab: &mut Lab, from: std::ops::Range<u32>, to: u32, class: u8, count: u32) {
    for number in 0..count {
        for sender in from.clone() {
            lab.send(number * 100 + sender, load(sender, to, class));
        }
    }
}

fn delivered_classes(lab: &Lab, class_of: impl Fn(u32) -> u8, class: u8) -> usize {
    lab.delivered.iter().filter(|(_, number, _)| class_of(*number) == class).count()
}

#[test]
fn an_incast_loses_nothing_with_the_headroom_of_the_formula() {
    let graph = single_switch(9, LINK).unwrap();
    let headroom = headroom_needed(LINK, LINK, Framing::ETHERNET, Bytes::new(1)).get();
    let config = switch(200_000, pfc(10_000, 5_000, headroom));
    let mut lab = lab(&graph, &config);
    burst(&mut lab, 0..8, 8, LOSSLESS, 200);
    lab.settle(FOREVER);
    assert_eq!((lab.delivered.len(), lab.log.discarded.len()), (1600, 0));
    let nic = port(&graph, &lab.fabric, "host0", "switch0");
    let counters = lab.fabric.pause_counters(lab.now, nic, LOSSLESS).unwrap();
    assert!(counters.xoff_received > 1 && counters.xon_received > 1, "{counters:?}");
    assert!(counters.paused > Time::from_us(1_000), "{counters:?}");
    let own = port(&graph, &lab.fabric, "switch0", "host0");
    let counters = lab.fabric.pause_counters(lab.now, own, LOSSLESS).unwrap();
    assert!(counters.headroom_max <= headroom && counters.headroom_max > headroom / 2, "{counters:?}");
}

#[test]
fn a_pause_frame_on_the_wire_is_no_packet_in_transit() {
    let graph = single_switch(9, LINK).unwrap();
    let mut lab = lab(&graph, &switch(2_000_000, pfc(10_000, 5_000, 100_000)));
    burst(&mut lab, 0..8, 8, LOSSLESS, 200);
    // Nothing but PAUSE frames leaves to the sender.
    let own = port(&graph, &lab.fabric, "switch0", "host0");
    let mut sent = 0;
    for ns in 1..40_000 {
        lab.run(Time::from_ns(ns));
        assert_eq!(lab.fabric.in_transit(own), 0, "after {ns} ns");
        sent = lab.fabric.sample(lab.now, own).pause_sent;
    }
    assert!(sent > 0);
}

#[test]
fn the_formula_is_not_wasteful() {
    for delay in [Time::from_ns(100), Time::from_us(1), Time::from_us(10)] {
        let link = LinkProps { delay, ..LINK };
        let graph = single_switch(9, link).unwrap();
        let headroom = headroom_needed(link, link, Framing::ETHERNET, Bytes::new(1)).get();
        let mut lab = lab(&graph, &switch(2_000_000, pfc(10_000, 5_000, headroom)));
        // Traffic both ways: PAUSE frames wait for a packet.
        for number in 0..400 {
            for from in 0..8 {
                lab.send(number * 100 + from, load(from, 8, LOSSLESS));
                lab.send(number * 100 + 50 + from, load(8, from, 0));
                lab.send(number * 100 + 60 + from, load((from + 1) % 8, from, 0));
            }
        }
        lab.settle(FOREVER);
        assert!(lab.log.discarded.iter().all(|(.., reason)| *reason != Discard::Headroom));
        let used = (0..8).map(|host| {
            let own = port(&graph, &lab.fabric, "switch0", &format!("host{host}"));
            lab.fabric.pause_counters(lab.now, own, LOSSLESS).unwrap().headroom_max
        });
        let used = used.max().unwrap();
        assert!(used * 10 >= headroom * 8, "{delay}: {used} of {headroom}");
    }
}

#[test]
fn loss_despite_pfc_comes_from_too_little_headroom_and_counts_on_the_way_in() {
    let graph = single_switch(9, LINK).unwrap();
    let needed = headroom_needed(LINK, LINK, Framing::ETHERNET, Bytes::new(1)).get();
    let mut lab = lab(&graph, &switch(200_000, pfc(10_000, 5_000, needed / 2)));
    burst(&mut lab, 0..8, 8, LOSSLESS, 200);
    lab.settle(FOREVER);
    assert!(lab.log.discarded.len() > 8);
    assert!(lab.log.discarded.iter().all(|(.., reason)| *reason == Discard::Headroom));
    let own = port(&graph, &lab.fabric, "switch0", "host0");
    let counters = lab.fabric.counters(lab.now, own);
    assert!(counters.discards.inbound() > 0 && counters.discards.outbound() == 0);
    assert_eq!(lab.delivered.len() + lab.log.discarded.len(), 1600);
}

#[test]
fn a_pause_takes_effect_after_the_frame_has_come_and_lasts_its_quanta() {
    // One sender into a slower receiver: the group goes over 3 kB with the third packet that waits.
    let slow = LinkProps { rate: Rate::from_gbps(1), ..LINK };
    let graph = dumbbell(1, 1, LINK, slow).unwrap();
    let config = PfcConfig { quanta: 100, ..pfc(3_000, 1_500, 1_000_000) };
    let mut lab = lab(&graph, &switch(2_100_000, config));
    burst(&mut lab, 0..1, 1, LOSSLESS, 12);
    let nic = port(&graph, &lab.fabric, "left0", "switch0");
    // Packets of 1,230.4 ns come 1 µs later; the first goes on, the second and third wait, the fourth is too
    // much.
    let fourth = 4 * 1_230_400 + 1_000_000;
    let heard = Time::from_ps(fourth + 67_200 + 1_000_000);
    lab.run(Time::from_ps(heard.as_ps() - 1));
    assert_eq!(lab.fabric.sample(lab.now, nic).pause_received, 0);
    lab.run(heard);
    assert_eq!(lab.fabric.sample(lab.now, nic).pause_received, 1);
    // 100 quanta of 512 bits at 10 Gb/s; renewed after half of it.
    assert_eq!(pause_time(LINK.rate, 100), Time::from_ps(5_120_000));
    lab.run(Time::from_ps(heard.as_ps() + 2_560_000));
    assert_eq!(lab.fabric.sample(lab.now, nic).pause_received, 2);
    lab.settle(FOREVER);
    assert_eq!(lab.delivered.len(), 12);
}

#[test]
fn a_pause_that_is_not_renewed_ends() {
    let graph = single_switch(3, LINK).unwrap();
    let mut lab = lab(&graph, &switch(3_100_000, PfcConfig { quanta: 1000, ..pfc(6_000, 1_500, 1_000_000) }));
    burst(&mut lab, 0..2, 2, LOSSLESS, 20);
    let nic = port(&graph, &lab.fabric, "host0", "switch0");
    let own = port(&graph, &lab.fabric, "switch0", "host0");
    while lab.fabric.sample(lab.now, nic).pause_received == 0 {
        lab.run(lab.now + Time::from_ns(100));
    }
    // What would renew or end it does not come any more.
    lab.fabric.set_loss(own, 1.0, 1);
    lab.fabric.set_loss(port(&graph, &lab.fabric, "switch0", "host1"), 1.0, 1);
    lab.settle(FOREVER);
    let counters = lab.fabric.pause_counters(lab.now, nic, LOSSLESS).unwrap();
    assert_eq!(counters.paused, pause_time(LINK.rate, 1000));
    assert_eq!(lab.delivered.len(), 40);
}

#[test]
fn a_paused_class_does_not_stop_another() {
    let graph = single_switch(2, LINK).unwrap();
    let mut lab = lab(&graph, &switch(200_000, pfc(10_000, 5_000, 50_000)));
    let (own, nic) =
        (port(&graph, &lab.fabric, "host1", "switch0"), port(&graph, &lab.fabric, "switch0", "host1"));
    lab.fabric.pause_storm(lab.now, own, LOSSLESS, true, &mut lab.log);
    lab.run(Time::from_us(2));
    for number in 0..20 {
        lab.send(number, load(0, 1, if number % 2 == 0 { LOSSLESS } else { 0 }));
    }
    lab.run(Time::from_us(100));
    let class_of = |number: u32| if number.is_multiple_of(2) { LOSSLESS } else { 0 };
    assert_eq!(delivered_classes(&lab, class_of, 0), 10);
    assert_eq!(delivered_classes(&lab, class_of, LOSSLESS), 0);
    assert_eq!(lab.fabric.class_backlog(nic, LOSSLESS), Some(8 * 1500), "the rest is held back at the host");
    lab.fabric.pause_storm(lab.now, own, LOSSLESS, false, &mut lab.log);
    lab.settle(FOREVER);
    assert_eq!(lab.delivered.len(), 20);
}

const WATCHDOG: WatchdogConfig = WatchdogConfig {
    poll: Time::from_ms(100),
    detection: Time::from_ms(200),
    restoration: Time::from_ms(200),
    action: WatchdogAction::Drop,
};

/// A host that asks for pauses from 50 ms to 1,050 ms; what the watchdog of its switch does.
fn storm(action: WatchdogAction) -> Lab {
    let graph = single_switch(2, LINK).unwrap();
    let watchdog = Some(WatchdogConfig { action, ..WATCHDOG });
    let mut lab = lab(&graph, &switch(200_000, PfcConfig { watchdog, ..pfc(50_000, 5_000, 50_000) }));
    let broken = port(&graph, &lab.fabric, "host1", "switch0");
    lab.run(Time::from_ms(50));
    lab.fabric.pause_storm(lab.now, broken, LOSSLESS, true, &mut lab.log);
    lab.run(Time::from_ms(60));
    burst(&mut lab, 0..1, 1, LOSSLESS, 10);
    lab.run(Time::from_ms(500));
    burst(&mut lab, 0..1, 1, LOSSLESS, 5);
    lab.run(Time::from_ms(1_050));
    lab.fabric.pause_storm(lab.now, broken, LOSSLESS, false, &mut lab.log);
    lab.settle(Time::from_secs(100));
    burst(&mut lab, 0..1, 1, LOSSLESS, 3);
    lab.settle(Time::from_secs(200));
    lab
}

#[test]
fn the_watchdog_finds_a_storm_acts_and_restores() {
    let lab = storm(WatchdogAction::Drop);
    let times: Vec<(u64, bool)> =
        lab.log.storms.iter().map(|(at, .., begins)| (at.as_ps() / 1_000_000_000, *begins)).collect();
    // The polls at 100 and 200 ms find packets, none sent since the poll before, and a pause. The last PAUSE
    // comes at 1,050 ms: the intervals that end at 1,200 and 1,300 ms are quiet.
    assert_eq!(times, [(200, true), (1_300, false)]);
    assert_eq!(lab.log.discarded.len(), 15);
    assert!(lab.log.discarded.iter().all(|(.., reason)| *reason == Discard::Watchdog));
    assert_eq!(lab.delivered.len(), 3, "after it is restored");
}

#[test]
fn a_watchdog_that_forwards_loses_nothing() {
    let lab = storm(WatchdogAction::Forward);
    assert_eq!(lab.log.storms.len(), 2);
    assert_eq!((lab.delivered.len(), lab.log.discarded.len()), (18, 0));
    assert_eq!(lab.delivered[9].0.as_ps() / 1_000_000_000, 200, "what waited goes when the storm is found");
}

/// Five switches in a ring with a host each: two hops clockwise is the shortest way to the host after next.
fn ring() -> Graph {
    let names = |prefix: &str| (0..5).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
    let link = |a: u32, b: u32| Link { a: NodeId(a), b: NodeId(b), ab: LINK, ba: LINK };
    let links = (0..5).flat_map(|i| [link(i, 5 + i), link(5 + i, 5 + (i + 1) % 5)]).collect();
    Graph::new(names("host"), names("switch"), links).unwrap()
}

fn clockwise(lab: &mut Lab, packets: u32) {
    for number in 0..packets {
        for from in 0..5 {
            lab.send(number * 5 + from, load(from, (from + 2) % 5, LOSSLESS));
        }
    }
}

#[test]
fn a_cyclic_buffer_dependency_deadlocks_and_is_found() {
    let graph = ring();
    let config = pfc(10_000, 3_000, 20_000);
    let mut lab = lab(&graph, &switch(1_000_000, config));
    assert_eq!(lab.fabric.deadlock(), None);
    clockwise(&mut lab, 400);
    lab.run(Time::from_ms(20));
    let moved = lab.delivered.len();
    let deadlock = lab.fabric.deadlock().expect("a deadlock");
    let ends = |(id, class): &(PortId, u8)| {
        assert_eq!(*class, LOSSLESS);
        lab.fabric.ends(*id)
    };
    let cycle: Vec<(u32, u32)> = deadlock.cycle.iter().map(ends).map(|(a, b)| (a.0 - 5, b.0 - 5)).collect();
    assert_eq!(cycle, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]);
    assert_eq!(deadlock.stuck.len(), 10, "and the five hosts behind it");
    lab.run(Time::from_ms(200));
    assert_eq!(lab.delivered.len(), moved, "it lasts");
    assert_eq!(lab.fabric.deadlock(), Some(deadlock));
    assert_eq!(lab.log.discarded.len(), 0);
}

#[test]
fn the_watchdog_breaks_a_deadlock() {
    let graph = ring();
    let config = PfcConfig { watchdog: Some(WATCHDOG), ..pfc(10_000, 3_000, 20_000) };
    let mut lab = lab(&graph, &switch(1_000_000, config));
    clockwise(&mut lab, 400);
    lab.run(Time::from_ms(20));
    assert!(lab.fabric.deadlock().is_some());
    lab.settle(Time::from_secs(60));
    assert_eq!(lab.fabric.deadlock(), None);
    assert!(lab.log.storms.iter().any(|(.., begins)| *begins));
    assert_eq!(lab.delivered.len() + lab.log.discarded.len(), 2000);
    // All five queues were in a storm, and dropped what the hosts still sent. Now there are none.
    clockwise(&mut lab, 10);
    lab.settle(Time::from_secs(120));
    assert_eq!(lab.delivered.len() + lab.log.discarded.len(), 2050);
    assert!(lab.fabric.ports().all(|port| lab.fabric.storms(port).count() == 0));
    assert_eq!(
        lab.log.discarded.iter().filter(|(.., number, _)| *number < 50).count(),
        0,
        "the first to be sent"
    );
}

#[test]
fn counter_clockwise_traffic_has_no_cycle() {
    let graph = ring();
    let mut lab = lab(&graph, &switch(1_000_000, pfc(10_000, 3_000, 20_000)));
    // Four of five: the dependency is a chain.
    for number in 0..400 {
        for from in 0..4 {
            lab.send(number * 5 + from, load(from, (from + 2) % 5, LOSSLESS));
        }
    }
    lab.settle(FOREVER);
    assert_eq!((lab.delivered.len(), lab.fabric.deadlock()), (1600, None));
}

fn link() -> impl Strategy<Value = LinkProps> {
    (1u64..100, 0u64..10_000, 1_000u32..9_001).prop_map(|(gbps, ns, mtu)| LinkProps {
        rate: Rate::from_gbps(gbps),
        delay: Time::from_ns(ns),
        mtu,
    })
}

/// Topologies whose shortest paths go up and then down: no cyclic dependency.
fn graph() -> impl Strategy<Value = Graph> {
    (0..4, link(), link(), 2u32..5, 1u32..4).prop_map(|(kind, a, b, n, m)| {
        match kind {
            0 => single_switch(n, a),
            1 => dumbbell(n, m, a, b),
            2 => leaf_spine(&[n, m], m, 2, a, b),
            _ => fat_tree(4, a, b),
        }
        .unwrap()
    })
}

/// The largest headroom that some link of `graph` needs.
fn headroom(graph: &Graph, cell: Bytes) -> u64 {
    let both = graph.links().iter().flat_map(|link| [(link.ab, link.ba), (link.ba, link.ab)]);
    both.map(|(to, back)| headroom_needed(to, back, Framing::ETHERNET, cell).get()).max().unwrap_or(0)
}

/// (gap in ns, from, to, bytes, class): mostly full packets of lossless classes.
fn packet() -> impl Strategy<Value = (u64, u32, u32, u16, u8)> {
    let bytes = prop_oneof![3 => Just(9_000u16), 1 => 40u16..9_000];
    let class = prop_oneof![4 => Just(3u8), 2 => Just(4), 1 => 0u8..8];
    (0u64..100, any::<u32>(), any::<u32>(), bytes, class)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]
    /// With the headroom of the formula, whatever else is set, not one packet of a lossless class is lost.
    #[test]
    fn lossless_is_lossless(
        graph in graph(),
        (threshold, alpha) in (proptest::option::of(0u64..30_000), 0.05f64..4.0),
        (xon, cell, shared) in (0u64..20_000, 1u64..400, 0u64..200_000),
        loads in proptest::collection::vec(packet(), 1..600),
        victim in proptest::option::of(any::<u32>()),
    ) {
        let (hosts, cell) = (graph.hosts() as u32, Bytes::new(cell));
        let xoff = threshold.map_or(Xoff::Dynamic { alpha }, |bytes| Xoff::Static { limit: Bytes::new(bytes) });
        let headroom = Bytes::new(headroom(&graph, cell));
        let classes = 0b0001_1000;
        let config = PfcConfig { classes, xoff, xon: Bytes::new(xon), headroom, ..PfcConfig::default() };
        let ports = 2 * graph.links().len() as u32;
        let buffer = Buffer::Shared {
            size: Bytes::new(config.headroom_total(ports).get() + shared),
            alpha: 8.0,
            reserve: Bytes::new(0),
            cell,
        };
        let scheduler = Scheduler::Ets { strict: 1 << 7, weights: [1; 8] };
        let pfc = Some(config);
        let config = SwitchConfig { buffer, scheduler, pfc, ..SwitchConfig::default() };
        // Each switch has exactly its own headroom.
        let mut lab = lab(&graph, &config);
        let least = graph.links().iter().map(|link| link.ab.mtu).min().unwrap_or(1500) as u16;
        let mut at = 0;
        for (index, &(gap, from, to, bytes, class)) in loads.iter().enumerate() {
            at += gap;
            lab.run(Time::from_ns(at));
            let to = victim.unwrap_or(to) % hosts;
            let bytes = bytes.min(least);
            lab.send(index as u32, Load { at: lab.now, from: from % hosts, to, bytes, class, ecn: Ecn::Ect0 });
        }
        lab.settle(Time::from_secs(10));
        for (_, _, number, reason) in &lab.log.discarded {
            prop_assert!(classes & (1 << loads[*number as usize].4) == 0, "{reason:?}");
        }
        prop_assert_eq!(lab.delivered.len() + lab.log.discarded.len(), loads.len());
        prop_assert_eq!(lab.fabric.shared_memory_used(), 0);
    }
}
