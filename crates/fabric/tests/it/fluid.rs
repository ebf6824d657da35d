//! Fluid beside packets: exact where it can be said by hand, and near to packets where it stands for packets.

use crate::support::{Lab, Load, port};
use fabric::topology::single_switch;
use fabric::{
    Buffer, Depth, Discard, Ecn, Fabric, FluidFlow, Framing, LinkProps, NodeId, PortId, Queue, Scheduler,
    SwitchConfig,
};
use proptest::prelude::*;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };
/// 1500 bytes of IP on the wire.
const PACKET_PS: u64 = 1538 * 800;

fn own(limit: u64) -> SwitchConfig {
    SwitchConfig { buffer: Buffer::Static { limit: Depth::Bytes(limit) }, ..SwitchConfig::default() }
}

fn shared(size: u64, alpha: f64) -> SwitchConfig {
    let [size, reserve, cell] = [size, 0, 1].map(Bytes::new);
    SwitchConfig { buffer: Buffer::Shared { size, alpha, reserve, cell }, ..SwitchConfig::default() }
}

fn lab(hosts: u32, config: &SwitchConfig) -> Lab {
    Lab::new(Fabric::new(&single_switch(hosts, LINK).unwrap(), Framing::ETHERNET, 1, |_| config.clone()))
}

/// The port from the switch to `host`.
fn exit(hosts: u32, lab: &Lab, host: u32) -> PortId {
    port(&single_switch(hosts, LINK).unwrap(), &lab.fabric, "switch0", &format!("host{host}"))
}

fn load(at_ns: u64, from: u32, to: u32, bytes: u16) -> Load {
    Load { at: Time::from_ns(at_ns), from, to, bytes, class: 0, ecn: Ecn::NotEct }
}

/// Fluid of host 0 that takes `percent` of a link's rate on the wire.
fn fluid(to: u32, percent: u64, packet_bytes: u16) -> FluidFlow {
    let wire = u64::from(Framing::ETHERNET.wire_bytes(packet_bytes));
    let rate = Rate::from_bps(percent * 100_000_000 * u64::from(packet_bytes) / wire);
    FluidFlow { from: NodeId(0), to: NodeId(to), hash: 0, rate, packet_bytes }
}

#[test]
fn a_packet_waits_for_what_a_burst_and_the_fluid_have_left() {
    for config in [own(u64::MAX), shared(1 << 40, 8.0)] {
        let mut lab = lab(4, &config);
        assert!(lab.fabric.start_fluid(Time::ZERO, &fluid(3, 60, 1500)));
        // Hosts 1 and 2 send a burst of 10 packets each; host 1 sends one more packet 10 µs later.
        for number in 0..20 {
            lab.send(number, load(0, 1 + number % 2, 3, 1500));
        }
        lab.run(Time::from_us(20));
        lab.send(99, load(0, 1, 3, 1500));
        lab.run(Time::from_secs(1));
        // All packets of both come by 10 packet times and 1 µs. The queue begins with the first two of them,
        // after a packet time and 1 µs; from then until the last packet is in, there is always work.
        let begin = PACKET_PS + 1_000_000;
        let enters = 20_000_000 + PACKET_PS + 1_000_000;
        let work = 20 * PACKET_PS - (enters - begin) * 4 / 10;
        let leaves = enters + work + PACKET_PS + 1_000_000;
        let (at, ..) = lab.delivered.iter().find(|(_, number, _)| *number == 99).unwrap();
        assert!(at.as_ps().abs_diff(leaves) < 50, "{} for {leaves}", at.as_ps());
    }
}

#[test]
fn a_port_is_busy_with_what_has_left_not_with_what_waits() {
    for config in [own(u64::MAX), shared(1 << 40, 8.0)] {
        let mut lab = lab(4, &config);
        assert!(lab.fabric.start_fluid(Time::ZERO, &fluid(3, 60, 1500)));
        for number in 0..20 {
            lab.send(number, load(0, 1 + number % 2, 3, 1500));
        }
        // Until the first packets come, fluid takes three fifths of the time; from then on there is always
        // work.
        let (begin, now) = (PACKET_PS + 1_000_000, Time::from_us(20));
        lab.run(now);
        let out = exit(4, &lab, 3);
        let busy = lab.fabric.counters(now, out).busy.as_ps();
        let expected = begin * 3 / 5 + now.as_ps() - begin;
        assert!(busy.abs_diff(expected) < 10_000, "{busy} for {expected} of {now}");
    }
}

#[test]
fn the_queue_is_packets_and_fluid_and_all_is_gone_in_the_end() {
    for config in [own(u64::MAX), shared(1 << 40, 8.0)] {
        let mut lab = lab(4, &config);
        let flow = fluid(3, 50, 1500);
        lab.fabric.start_fluid(Time::ZERO, &flow);
        for number in 0..200 {
            lab.send(number, load(0, 1 + number % 2, 3, 1500));
        }
        let out = exit(4, &lab, 3);
        let full = PACKET_PS * 100 + 1_000_000;
        lab.run(Time::from_ps(full));
        // 200 packets and half a line rate came for 99 packet times, a line rate left.
        let expected = (200.0 + 49.5 - 99.0) * 1500.0;
        let queue = lab.fabric.sample(lab.now, out).queue_bytes as f64;
        assert!((queue - expected).abs() < 3_000.0, "{queue} for {expected}");
        lab.run(Time::from_ms(2));
        lab.fabric.stop_fluid(lab.now, &flow);
        lab.run(Time::from_ms(3));
        assert_eq!(lab.fabric.sample(lab.now, out).queue_bytes, 0);
        let counters = lab.fabric.counters(lab.now, out);
        let expected = 2e-3 * flow.rate.as_bps() as f64 / 8.0;
        assert!((counters.fluid.bytes as f64 - expected).abs() < 10.0, "{}", counters.fluid.bytes);
        assert_eq!((counters.fluid.lost_bytes, lab.fabric.memory_held(out)), (0, 0));
        assert_eq!(lab.fabric.shared_memory_used(), 0);
    }
}

#[test]
fn fluid_takes_shared_memory_and_is_lost_where_there_is_none() {
    // A burst of host 2 holds alpha/(1+alpha) of the pool at host 4; the fluid's own port gets what is left.
    let mut lab = lab(5, &shared(100_000, 1.0));
    lab.fabric.start_fluid(Time::ZERO, &fluid(3, 90, 1500));
    for number in 0..400u32 {
        lab.send(number, load(0, 1 + number % 2, 3 + (number / 2) % 2, 1500));
    }
    lab.run(Time::from_us(300));
    let out = exit(5, &lab, 3);
    let totals = lab.fabric.fluid(lab.now, out);
    assert!(totals.lost_bytes > 10_000, "{totals:?}");
    assert!(lab.fabric.counters(lab.now, out).discards.of(Discard::Tail) > 0);
    lab.run(Time::from_secs(1));
    lab.fabric.stop_fluid(lab.now, &fluid(3, 90, 1500));
    for port in lab.fabric.ports().collect::<Vec<_>>() {
        lab.fabric.sample(lab.now, port);
        assert_eq!(lab.fabric.memory_held(port), 0);
    }
    assert_eq!(lab.fabric.shared_memory_used(), 0);
}

/// Waits at the exit, drops and longest queue of bursts beside 60 % background, as packets or as fluid.
fn beside_background(as_fluid: bool, limit: u64, burst: u64) -> (f64, usize, u64) {
    let mut lab = lab(4, &own(limit));
    let gap = PACKET_PS * 10 / 6;
    let mut loads = Vec::new();
    // 10 ms; hosts 1 and 2 send bursts of so many packets each, as often as makes 20 % load.
    let every = 6_250 * 2 * burst;
    for at in (0..10_000_000 / every).map(|number| number * every + number * 37) {
        loads.extend((0..2 * burst).map(|i| load(at, 1 + (i % 2) as u32, 3, 1500)));
    }
    let bursts = loads.len();
    if as_fluid {
        lab.fabric.start_fluid(Time::ZERO, &fluid(3, 60, 1500));
    } else {
        let packets = 10_000_000_000 / gap;
        loads.extend((0..packets).map(|i| Load { at: Time::from_ps(i * gap), ..load(0, 0, 3, 1500) }));
    }
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|i| loads[*i].at);
    for number in order {
        lab.run(loads[number].at);
        lab.send(number as u32, loads[number]);
    }
    lab.run(Time::from_ms(50));
    let of_bursts = |number: &u32| (*number as usize) < bursts;
    let delays: Vec<u64> = lab
        .delivered
        .iter()
        .filter(|(_, number, _)| of_bursts(number))
        .map(|(at, number, _)| (*at - loads[*number as usize].at).as_ps())
        .collect();
    let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
    let dropped = lab.log.discarded.iter().filter(|(_, _, number, _)| of_bursts(number)).count();
    let out = exit(4, &lab, 3);
    (mean / 1e6, dropped, lab.fabric.counters(lab.now, out).queue_max_bytes)
}

#[test]
fn bursts_meet_the_same_delays_and_queues_as_beside_packets() {
    let (fluid, none, longest) = beside_background(true, u64::MAX, 8);
    let (exact, nobody, longest_exact) = beside_background(false, u64::MAX, 8);
    println!(
        "mean delay {fluid:.3} µs, with packets {exact:.3} µs; longest queue {longest} B, {longest_exact} B"
    );
    assert_eq!((none, nobody), (0, 0));
    // A packet of the background that is being sent makes others wait for half of it on average: 0.4 µs.
    assert!((fluid - exact).abs() < 0.05 * exact, "{fluid} for {exact}");
    assert!(longest.abs_diff(longest_exact) <= 2 * 1500, "{longest} for {longest_exact}");
}

#[test]
fn bursts_lose_about_as_many_packets_as_beside_packets() {
    for (limit, burst, within) in [(12_000, 8, 0.3), (60_000, 40, 0.15), (150_000, 100, 0.15)] {
        let (_, fluid, _) = beside_background(true, limit, burst);
        let (_, exact, _) = beside_background(false, limit, burst);
        println!("{fluid} drops with room for {limit} B, with packets {exact}");
        assert!(exact > 100);
        assert!((fluid as f64 - exact as f64).abs() <= within * exact as f64, "{fluid} for {exact}");
    }
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let one = (0u64..3_000, 1u32..3, 60u16..9000);
    proptest::collection::vec(one, 1..100).prop_map(|items| {
        let mut at = 0;
        let load = |(gap, from, bytes)| {
            at += gap;
            load(at, from, 3, bytes)
        };
        items.into_iter().map(load).collect()
    })
}

proptest! {
    /// The short way, where a packet's departure is computed when it enters, and the long way, where fluid
    /// waits between packets, are the same.
    #[test]
    fn both_ways_through_a_port_agree(loads in loads(), percent in 1u64..99) {
        let run = |config| {
            let mut lab = lab(4, &config);
            lab.fabric.start_fluid(Time::ZERO, &fluid(3, percent, 1500));
            lab.play(&loads);
            lab.delivered
        };
        let (short, long) = (run(own(u64::MAX)), run(shared(1 << 40, 1000.0)));
        prop_assert_eq!(short.len(), long.len());
        for (a, b) in short.iter().zip(&long) {
            prop_assert_eq!(a.1, b.1);
            prop_assert!(a.0.as_ps().abs_diff(b.0.as_ps()) <= 2 * loads.len() as u64, "{:?} {:?}", a, b);
        }
    }

    /// Beside fluid, packets take as long as beside many small packets of the same rate, up to what a few of
    /// those take.
    #[test]
    fn fluid_is_the_limit_of_small_packets(loads in loads(), percent in 1u64..80) {
        const SMALL: u16 = 62; // 100 bytes on the wire: 80 ns.
        let gap = 80_000 * 100 / percent;
        let end = loads.last().unwrap().at.as_ps() + 200_000_000;
        let grains = (0..end / gap).map(|i| Load { at: Time::from_ps(i * gap), ..load(0, 0, 3, SMALL) });
        let mut all: Vec<(bool, usize, Load)> = grains.enumerate().map(|(i, load)| (false, i, load)).collect();
        all.extend(loads.iter().enumerate().map(|(i, load)| (true, i, *load)));
        all.sort_by_key(|(_, _, load)| load.at);
        let mut grains = lab(4, &own(u64::MAX));
        for (packet, number, load) in all {
            grains.run(load.at);
            grains.send(if packet { number as u32 } else { 1 << 20 }, load);
        }
        grains.run(Time::from_secs(1));
        let mut fluids = lab(4, &own(u64::MAX));
        fluids.fabric.start_fluid(Time::ZERO, &fluid(3, percent, SMALL));
        fluids.play(&loads);
        let by_number = |lab: &Lab| {
            let mut times = vec![Time::ZERO; loads.len()];
            for (at, number, _) in lab.delivered.iter().filter(|(_, number, _)| *number < 1 << 20) {
                times[*number as usize] = *at;
            }
            times
        };
        for (a, b) in by_number(&fluids).into_iter().zip(by_number(&grains)) {
            // Grains start 1 µs and their own time after the fluid, and one may be in the way.
            let most = 1_080_000 * percent / 100 + 4 * 80_000;
            prop_assert!(a.as_ps().abs_diff(b.as_ps()) <= most, "{} {} {}", a, b, most);
        }
    }

    /// A port counts all fluid that comes as taken or lost, whatever else happens there.
    #[test]
    fn fluid_is_accounted_for(
        loads in loads(), percent in 1u64..99, size in 5_000u64..100_000, mark in any::<bool>(), pool in any::<bool>()
    ) {
        let mut config = if pool { shared(size, 1.0) } else { own(size) };
        if mark {
            config.queue = Queue::Step { threshold: Depth::Bytes(size / 4) };
        }
        config.scheduler = Scheduler::Fifo {};
        let mut lab = lab(4, &config);
        let flow = fluid(3, percent, 1500);
        lab.fabric.start_fluid(Time::ZERO, &flow);
        lab.play(&loads);
        let (end, out) = (lab.now, exit(4, &lab, 3));
        let totals = lab.fabric.fluid(end, out);
        let offered = (u128::from(flow.rate.as_bps()) * u128::from(end.as_ps()) / 8_000_000_000_000) as u64;
        prop_assert_eq!(totals.bytes + totals.lost_bytes, offered);
        prop_assert_eq!(lab.delivered.len() + lab.log.discarded.len(), loads.len());
        prop_assert_eq!(lab.fabric.sample(end, out).queue_bytes, 0);
        prop_assert!(lab.fabric.counters(end, out).queue_max_bytes <= size + 9000 + 1500);
        lab.fabric.stop_fluid(end, &flow);
        prop_assert_eq!(lab.fabric.shared_memory_used(), 0);
    }
}
