//! Virtual output queues: memory, turns, and what they are for.

use crate::support::{Lab, Load, port};
use fabric::topology::single_switch;
use fabric::{
    Buffer, CodelConfig, Depth, Discard, Ecn, Fabric, Framing, LinkProps, Queue, Scheduler, SwitchConfig,
};
use proptest::prelude::*;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };

fn voq(size: u64, alpha: f64, reserved: f64, cap: u64) -> SwitchConfig {
    let ([size, cap], cell) = ([size, cap].map(Bytes::new), Bytes::new(1));
    SwitchConfig {
        buffer: Buffer::Voq { size, alpha, reserved, multicast: 0.0, cap, processors: None, cell },
        ..SwitchConfig::default()
    }
}

fn lab(hosts: u32, config: &SwitchConfig) -> Lab {
    Lab::new(Fabric::new(&single_switch(hosts, LINK).unwrap(), Framing::ETHERNET, 1, |_| config.clone()))
}

fn load(at_ns: u64, from: u32, to: u32, bytes: u16) -> Load {
    Load { at: Time::from_ns(at_ns), from, to, bytes, class: 0, ecn: Ecn::NotEct }
}

/// `count` packets of each of `from` to `to`, all at once.
fn burst(from: std::ops::Range<u32>, to: u32, count: usize, bytes: u16) -> Vec<Load> {
    (0..count).flat_map(|_| from.clone().map(move |host| load(0, host, to, bytes))).collect()
}

#[test]
fn a_queue_is_capped_and_the_port_holds_the_sum() {
    let graph = single_switch(5, LINK).unwrap();
    let mut lab = lab(5, &voq(10_000_000, 8.0, 0.0, 30_000));
    lab.play(&burst(0..4, 4, 200, 1500));
    let out = port(&graph, &lab.fabric, "switch0", "host4");
    let counters = lab.fabric.counters(lab.now, out);
    assert_eq!(counters.voq_max_bytes, Some(30_000));
    // Four queues of 30 000 bytes each; the last may be a packet short when the others are full.
    assert!((118_500..=120_000).contains(&counters.queue_max_bytes), "{}", counters.queue_max_bytes);
    assert!(counters.discards.of(Discard::Tail) > 0);
    assert_eq!(counters.discards.total(), lab.log.discarded.len() as u64);
}

#[test]
fn ports_of_one_processor_wait_in_one_queue_and_others_take_turns_with_it() {
    let passed = |processors| {
        let mut config = voq(10_000_000, 8.0, 0.0, 10_000_000);
        if let Buffer::Voq { processors: of, .. } = &mut config.buffer {
            *of = processors;
        }
        let mut lab = lab(5, &config);
        // Hosts 0 and 1 fill the way to host 4; a little later each of 1, 2 and 3 has one packet for it.
        let mut loads = burst(0..2, 4, 100, 1500);
        loads.extend([load(60_000, 2, 4, 1500), load(60_000, 3, 4, 1500)]);
        lab.play(&loads);
        let behind = |number: usize| {
            let (late, _, _) = lab.delivered.iter().find(|(_, n, _)| *n as usize == number).unwrap();
            lab.delivered.iter().filter(|(at, n, _)| (*n as usize) < 200 && at < late).count()
        };
        [behind(200), behind(201)]
    };
    let [second, third] = passed(None);
    assert!(second < 60 && third < 60, "{second}, {third}: each port has its turn");
    let [second, third] = passed(Some(1));
    assert!(second > 80 && third > 80, "{second}, {third}: behind what came before");
    // Ports 0, 1 and 2 on the first processor, 3 and 4 on the second.
    let [second, third] = passed(Some(2));
    assert!(second > 80 && third < 60, "{second}, {third}");
}

#[test]
fn one_hot_queue_takes_its_share_of_what_is_not_reserved() {
    // 16 possible queues, each with a 16th of 16 %, 10 000 B, leave 840 000 B; alpha 1: half of it, beyond
    // the reserve.
    let graph = single_switch(4, LINK).unwrap();
    let mut config = voq(1_000_000, 1.0, 0.16, 1_000_000);
    config.scheduler = Scheduler::Fifo {};
    let slow = LinkProps { rate: Rate::from_bps(1_000_000), ..LINK };
    let uneven = {
        let hosts = (0..4).map(|i| format!("host{i}")).collect();
        let link = |i: u32| fabric::Link {
            a: fabric::NodeId(i),
            b: fabric::NodeId(4),
            ab: LINK,
            ba: if i == 3 { slow } else { LINK },
        };
        fabric::Graph::new(hosts, vec!["switch0".into()], (0..4).map(link).collect()).unwrap()
    };
    let mut lab = Lab::new(Fabric::new(&uneven, Framing::ETHERNET, 1, |_| config.clone()));
    lab.play(&burst(0..1, 3, 500, 1000));
    let out = port(&graph, &lab.fabric, "switch0", "host3");
    let longest = lab.fabric.counters(lab.now, out).voq_max_bytes.unwrap();
    assert!((428_000..=431_000).contains(&longest), "{longest}");
}

#[test]
fn the_guaranteed_minimum_is_there_when_the_rest_is_full() {
    // Host 0 fills the dynamic part towards host 3; 6 000 B of host 1 towards host 2 still get in.
    let mut lab = lab(4, &voq(200_000, 1000.0, 0.48, 1_000_000));
    for (number, load) in burst(0..2, 3, 300, 1500).into_iter().enumerate() {
        lab.send(number as u32, load);
    }
    lab.run(Time::from_us(200));
    let pressed = lab.fabric.shared_memory_used();
    assert!(pressed > 80_000, "{pressed}");
    let before = lab.log.discarded.len();
    for number in 0..4 {
        lab.send(1000 + number, load(0, 2, 1, 1500));
    }
    lab.run(Time::from_us(210));
    assert!(lab.log.discarded[before..].iter().all(|(.., number, _)| *number < 1000));
}

#[test]
fn ports_of_entry_share_in_bytes_whatever_their_packets_and_their_number() {
    // Host 0 sends 9000-byte packets, host 1 three times as many of 300 bytes, host 2 1500: each gets a
    // third.
    let sizes = [9000u16, 300, 1500];
    let mut loads = Vec::new();
    for round in 0..600 {
        for (host, bytes) in sizes.iter().enumerate() {
            let times = 9000 / u32::from(*bytes);
            for _ in 0..if round % 3 == 0 { times } else { 0 } {
                loads.push(load(0, host as u32, 3, *bytes));
            }
        }
    }
    let mut lab = lab(4, &voq(100_000_000, 8.0, 0.0, 100_000_000));
    lab.play(&loads);
    let mut got = [0u64; 3];
    for (_, number, _) in lab.delivered.iter().take_while(|(at, ..)| *at < Time::from_ms(2)) {
        let load = loads[*number as usize];
        got[load.from as usize] += u64::from(load.bytes);
    }
    let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
    assert!(most - least <= 3 * 9000, "{got:?}");
}

#[test]
fn disciplines_look_at_the_single_queue() {
    // Four queues of up to 3 packets: over the threshold of 4 as a port, under it as queues.
    let mark = |buffer: Buffer| {
        let queue = Queue::Step { threshold: Depth::Packets(4) };
        let mut lab = lab(5, &SwitchConfig { buffer, queue, ..SwitchConfig::default() });
        let loads: Vec<Load> =
            burst(0..4, 4, 3, 1500).into_iter().map(|load| Load { ecn: Ecn::Ect0, ..load }).collect();
        lab.play(&loads);
        lab.delivered.iter().filter(|(.., ecn)| *ecn == Ecn::Ce).count()
    };
    assert_eq!(mark(voq(1_000_000, 8.0, 0.0, 1_000_000).buffer), 0);
    assert!(mark(Buffer::Static { limit: Depth::Packets(100) }) > 0);
}

#[test]
fn codel_cuts_a_standing_queue_and_counts_it_as_early_drops() {
    // Two hosts at full rate into one for 20 ms; target 100 µs, interval 1 ms.
    let codel = CodelConfig { target: Time::from_us(100), interval: Time::from_ms(1), ecn: false };
    let loads: Vec<Load> =
        (0..16_000).flat_map(|i| [0, 1].map(|from| load(i * 1231, from, 2, 1500))).collect();
    for buffer in
        [Buffer::Static { limit: Depth::Bytes(u64::MAX) }, voq(100_000_000, 8.0, 0.0, 100_000_000).buffer]
    {
        let graph = single_switch(3, LINK).unwrap();
        let config = SwitchConfig { buffer, queue: Queue::Codel(codel), ..SwitchConfig::default() };
        let mut lab = lab(3, &config);
        lab.play(&loads);
        let out = port(&graph, &lab.fabric, "switch0", "host2");
        let counters = lab.fabric.counters(lab.now, out);
        let early = counters.discards.of(Discard::Early);
        assert!(early > 100, "{early}");
        assert_eq!(counters.sent_packets + early, loads.len() as u64);
        assert_eq!(lab.delivered.len() as u64, counters.sent_packets);
    }
}

proptest! {
    /// With one port of entry and one class, virtual output queues are one first-in first-out queue.
    #[test]
    fn a_single_way_in_is_a_plain_queue(
        items in proptest::collection::vec((0u64..3_000, 40u16..9000), 1..120), k in 0u64..10
    ) {
        let mut at = 0;
        let loads: Vec<Load> = items.iter().map(|&(gap, bytes)| {
            at += gap;
            Load { ecn: Ecn::Ect0, ..load(at, 0, 1, bytes) }
        }).collect();
        let queue = Queue::Step { threshold: Depth::Packets(k) };
        let run = |buffer| {
            let mut lab = lab(2, &SwitchConfig { buffer, queue, ..SwitchConfig::default() });
            lab.play(&loads);
            lab.delivered
        };
        let plain = run(Buffer::Static { limit: Depth::Bytes(u64::MAX) });
        prop_assert_eq!(run(voq(1 << 40, 8.0, 0.0, 1 << 40).buffer), plain);
    }

    /// Ports of entry that always have packets get the same bytes, within a packet and a credit each.
    #[test]
    fn turns_are_fair(sizes in proptest::collection::vec(64u16..9000, 2..6)) {
        let hosts = sizes.len() as u32;
        let mut loads = Vec::new();
        for (host, &bytes) in sizes.iter().enumerate() {
            let count = 600_000 / u32::from(bytes);
            loads.extend((0..count).map(|_| load(0, host as u32, hosts, bytes)));
        }
        let mut lab = lab(hosts + 1, &voq(1 << 40, 8.0, 0.0, 1 << 40));
        lab.play(&loads);
        let mut got = vec![0u64; sizes.len()];
        // All queues hold packets from 50 µs until a third of their bytes is gone.
        for (at, number, _) in &lab.delivered {
            if *at > Time::from_us(50) && *at < Time::from_us(400) {
                let load = loads[*number as usize];
                got[load.from as usize] += u64::from(load.bytes);
            }
        }
        let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        prop_assert!(most - least <= 2 * (9000 + 1500), "{:?}", got);
    }
}
