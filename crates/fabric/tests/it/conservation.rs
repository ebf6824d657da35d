//! No packet is made or lost unseen, at any port, whatever the topology, the load and the faults; and what
//! becomes of it does not depend on the way that it takes through the port's code.

use crate::support::{Lab, Load};
use fabric::topology::{dumbbell, fat_tree, leaf_spine, single_switch};
use fabric::{
    Buffer, CodelConfig, Depth, Discard, Ecn, Fabric, Framing, Graph, LinkProps, PfcConfig, PortId, Queue,
    RedConfig, Scheduler, SwitchConfig, WatchdogAction, WatchdogConfig, Xoff,
};
use proptest::prelude::*;
use units::testing::cases;
use units::{Bytes, Rate, Time};

fn link() -> impl Strategy<Value = LinkProps> {
    (1u64..100, 0u64..5_000).prop_map(|(gbps, ns)| LinkProps {
        rate: Rate::from_gbps(gbps),
        delay: Time::from_ns(ns),
        mtu: 4000,
    })
}

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

fn switch() -> impl Strategy<Value = SwitchConfig> {
    let buffer = prop_oneof![
        (1u64..20).prop_map(|n| Buffer::Static { limit: Depth::Packets(n) }),
        (1_000u64..50_000).prop_map(|n| Buffer::Static { limit: Depth::Bytes(n) }),
        (20_000u64..200_000, 0.1f64..8.0, 0u64..2).prop_map(|(size, alpha, reserve)| Buffer::Shared {
            size: Bytes::new(size),
            alpha,
            reserve: Bytes::new(reserve * 100),
            cell: Bytes::new(256),
        }),
        (20_000u64..400_000, 0.1f64..8.0, 0.0f64..0.5, 5_000u64..50_000, prop::option::of(1u32..4)).prop_map(
            |(size, alpha, reserved, cap, processors)| Buffer::Voq {
                processors,
                size: Bytes::new(size),
                alpha,
                reserved,
                multicast: 0.0,
                cap: Bytes::new(cap),
                cell: Bytes::new(256),
            }
        ),
    ];
    let red = RedConfig {
        min: Depth::Packets(2),
        max: Depth::Packets(6),
        max_p: 0.2,
        weight: 0.2,
        gentle: true,
        ecn: true,
    };
    let queue = prop_oneof![
        Just(Queue::TailDrop {}),
        (0u64..8).prop_map(|k| Queue::Step { threshold: Depth::Packets(k) }),
        Just(Queue::Red(red)),
        (0u64..5, 5u64..100, any::<bool>()).prop_map(|(target, interval, ecn)| {
            Queue::Codel(CodelConfig {
                target: Time::from_us(target),
                interval: Time::from_us(interval),
                ecn,
            })
        }),
    ];
    let scheduler = prop_oneof![
        Just(Scheduler::Fifo {}),
        Just(Scheduler::Ets { strict: 0b1000_0000, weights: [1, 2, 3, 4, 5, 6, 7, 8] }),
    ];
    (buffer, queue, scheduler, pfc()).prop_map(|(buffer, queue, scheduler, pfc)| {
        let possible = matches!(buffer, Buffer::Shared { .. }) && scheduler != (Scheduler::Fifo {});
        SwitchConfig { buffer, queue, class_queues: Vec::new(), scheduler, pfc: pfc.filter(|_| possible) }
    })
}

/// PFC with thresholds that make sense or not, and a watchdog that ends deadlocks.
fn pfc() -> impl Strategy<Value = Option<PfcConfig>> {
    let xoff = prop_oneof![
        (0u64..20_000).prop_map(|n| Xoff::Static { limit: Bytes::new(n) }),
        (0.05f64..4.0).prop_map(|alpha| Xoff::Dynamic { alpha }),
    ];
    let action = prop_oneof![Just(WatchdogAction::Drop), Just(WatchdogAction::Forward)];
    let sizes = (0u64..10_000, 0u64..10_000, proptest::option::of(0u64..20_000));
    let config = (any::<u8>(), xoff, sizes, 1u16.., action).prop_map(
        |(classes, xoff, (xon, headroom, pool), quanta, action)| {
            let (poll, detection) = (Time::from_us(500), Time::from_ms(1));
            let watchdog = WatchdogConfig { poll, detection, restoration: detection, action };
            PfcConfig {
                classes,
                xoff,
                xon: Bytes::new(xon),
                headroom: Bytes::new(headroom),
                headroom_pool: pool.map(Bytes::new),
                quanta,
                watchdog: Some(watchdog),
            }
        },
    );
    proptest::option::of(config)
}

/// A fault of one port, after so many packets: which port, what.
type Fault = (usize, u32, u8);

fn apply(lab: &mut Lab, ports: &[PortId], (_, port, what): Fault) {
    let port = ports[port as usize % ports.len()];
    match what {
        0 => lab.fabric.take_down(lab.now, port, &mut lab.log),
        1 => lab.fabric.bring_up(lab.now, port),
        2 => lab.fabric.set_loss(port, 0.3, 5),
        3 => lab.fabric.set_corrupt(port, 0.3, 5),
        _ => lab.fabric.set_rate(lab.now, port, Rate::from_gbps(u64::from(what)), &mut lab.log),
    }
}

/// Packets that entered a port have left it, are in it, or were discarded in it.
fn balance(lab: &mut Lab, ports: &[PortId]) -> Result<(), TestCaseError> {
    for &port in ports {
        let held = lab.fabric.in_transit(port);
        let counters = lab.fabric.counters(lab.now, port);
        let sample = lab.fabric.sample(lab.now, port);
        prop_assert_eq!(counters.enqueued_packets, counters.sent_packets + u64::from(sample.queue_packets));
        prop_assert!(held >= u64::from(sample.queue_packets));
        // Each packet's time on the wire is whole picoseconds.
        let rounded = Time::from_ps(counters.enqueued_packets);
        prop_assert!(counters.busy <= lab.now + rounded, "{} by {}", counters.busy, lab.now);
        prop_assert!(counters.queue_max_bytes >= sample.queue_bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]
    #[test]
    fn every_packet_is_accounted_for(
        graph in graph(),
        config in switch(),
        loads in proptest::collection::vec((0u64..2_000, any::<u32>(), any::<u32>(), 40u16..5000, 0u8..8, any::<bool>()), 1..200),
        largest in prop_oneof![Just(4000u16), Just(5000)],
        faults in proptest::collection::vec((0usize..200, any::<u32>(), 0u8..9), 0..6),
    ) {
        let hosts = graph.hosts() as u32;
        let mut lab = Lab::new(Fabric::new(&graph, Framing::ETHERNET, 2, |_| config.clone()));
        // Packets of more than the MTU are looked for only where there may be some.
        lab.fabric.expect_packets_of(u32::from(largest));
        let ports: Vec<PortId> = lab.fabric.ports().collect();
        let (mut at, mut sent) = (0, 0);
        for (index, &(gap, from, to, bytes, class, capable)) in loads.iter().enumerate() {
            at += gap;
            lab.run(Time::from_ns(at));
            for fault in faults.iter().filter(|fault| fault.0 == index) {
                apply(&mut lab, &ports, *fault);
            }
            let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
            let bytes = bytes.min(largest);
            let load = Load { at: lab.now, from: from % hosts, to: to % hosts, bytes, class, ecn };
            sent += usize::from(lab.send(index as u32, load));
            balance(&mut lab, &ports)?;
        }
        lab.run(Time::from_secs(100));
        balance(&mut lab, &ports)?;
        prop_assert_eq!(lab.delivered.len() + lab.log.discarded.len(), sent);
        for &port in &ports {
            prop_assert_eq!(lab.fabric.in_transit(port), 0);
            prop_assert_eq!(lab.fabric.sample(lab.now, port).queue_bytes, 0);
            prop_assert_eq!(lab.fabric.memory_held(port), 0);
        }
        prop_assert_eq!(lab.fabric.shared_memory_used(), 0);
        let total: u64 = ports.iter().map(|port| lab.fabric.counters(lab.now, *port).discards.total()).sum();
        prop_assert_eq!(total, lab.log.discarded.len() as u64);
        let mtu = lab.log.discarded.iter().filter(|(.., reason)| *reason == Discard::Mtu);
        for (.., number, _) in mtu {
            prop_assert!(loads[*number as usize].3 > 4000);
        }
    }

    /// Ports that the driver looks at go the long way, on which nothing is left out.
    #[test]
    fn the_plain_way_is_exact(
        graph in graph(),
        config in switch(),
        loads in proptest::collection::vec((0u64..2_000, any::<u32>(), any::<u32>(), 40u16..4000, 0u8..8, any::<bool>()), 1..200),
        faults in proptest::collection::vec((0usize..200, any::<u32>(), 0u8..9), 0..3),
    ) {
        let hosts = graph.hosts() as u32;
        let mut labs = [false, true].map(|long| {
            let mut lab = Lab::new(Fabric::new(&graph, Framing::ETHERNET, 2, |_| config.clone()));
            lab.fabric.expect_packets_of(4000);
            let ports: Vec<PortId> = lab.fabric.ports().collect();
            ports.iter().filter(|_| long).for_each(|port| lab.fabric.capture(*port));
            let mut at = 0;
            for (index, &(gap, from, to, bytes, class, capable)) in loads.iter().enumerate() {
                at += gap;
                lab.run(Time::from_ns(at));
                for fault in faults.iter().filter(|fault| fault.0 == index) {
                    apply(&mut lab, &ports, *fault);
                }
                let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                lab.send(index as u32, Load { at: lab.now, from: from % hosts, to: to % hosts, bytes, class, ecn });
            }
            lab.run(Time::from_secs(100));
            lab
        });
        let [plain, long] = &mut labs;
        prop_assert_eq!(&plain.delivered, &long.delivered);
        prop_assert_eq!(&plain.log.discarded, &long.log.discarded);
        let ports: Vec<PortId> = plain.fabric.ports().collect();
        for port in ports {
            prop_assert_eq!(plain.fabric.counters(plain.now, port), long.fabric.counters(long.now, port));
            prop_assert!(plain.fabric.waits(port).buckets().eq(long.fabric.waits(port).buckets()));
        }
    }
}
