//! Watermarks of queues, of shared memory and of PFC, interval by interval; why there are pauses.

use crate::support::{Lab, Load, port};
use fabric::topology::{dumbbell, single_switch};
use fabric::{
    Buffer, Cause, Depth, Ecn, Fabric, Framing, Graph, LinkProps, NodeId, PfcConfig, Scheduler, SwitchConfig,
    Xoff,
};
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
const LOSSLESS: u8 = 3;
const FOREVER: Time = Time::from_secs(1);

fn lab(graph: &Graph, config: &SwitchConfig) -> Lab {
    Lab::new(Fabric::new(graph, Framing::ETHERNET, 1, |_| config.clone()))
}

fn shared(scheduler: Scheduler, pfc: Option<PfcConfig>) -> SwitchConfig {
    let (size, reserve, cell) = (Bytes::new(2_000_000), Bytes::new(0), Bytes::new(1));
    SwitchConfig {
        buffer: Buffer::Shared { size, alpha: 8.0, reserve, cell },
        scheduler,
        pfc,
        ..SwitchConfig::default()
    }
}

fn ets(pfc: Option<PfcConfig>) -> SwitchConfig {
    shared(Scheduler::Ets { strict: 0, weights: [1; 8] }, pfc)
}

fn pfc() -> PfcConfig {
    let (limit, xon, headroom) = (Bytes::new(10_000), Bytes::new(5_000), Bytes::new(100_000));
    PfcConfig { classes: 1 << LOSSLESS, xoff: Xoff::Static { limit }, xon, headroom, ..PfcConfig::default() }
}

/// `count` packets from each of `from` at once.
fn burst(lab: &mut Lab, from: std::ops::Range<u32>, to: u32, class: u8, count: u32) {
    for number in 0..count {
        for from in from.clone() {
            let at = lab.now;
            lab.send(number, Load { at, from, to, bytes: 1500, class, ecn: Ecn::Ect0 });
        }
    }
}

#[test]
fn the_intervals_together_have_the_peak_of_the_run() {
    let fifo =
        SwitchConfig { buffer: Buffer::Static { limit: Depth::Bytes(60_000) }, ..SwitchConfig::default() };
    for config in [fifo, shared(Scheduler::Fifo {}, None), ets(None), ets(Some(pfc()))] {
        let graph = single_switch(5, LINK).unwrap();
        let (mut whole, mut parts) = (lab(&graph, &config), lab(&graph, &config));
        let out = port(&graph, &whole.fabric, "switch0", "host4");
        let switch = graph.find("switch0").unwrap();
        let (mut ports, mut pools, mut queues, mut held) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for lab in [&mut whole, &mut parts] {
            burst(lab, 0..4, 4, LOSSLESS, 40);
        }
        for us in (10..400).step_by(10) {
            if us == 250 {
                burst(&mut parts, 0..2, 4, LOSSLESS, 10);
                whole.run(parts.now);
                burst(&mut whole, 0..2, 4, LOSSLESS, 10);
            }
            parts.run(Time::from_us(us));
            let fabric = &mut parts.fabric;
            let sample = fabric.sample(parts.now, out);
            assert!(sample.queue_max_bytes >= sample.queue_bytes);
            ports.push(sample.queue_max_bytes);
            pools.extend(fabric.pool_level(switch).map(|level| level.used.recent_max));
            queues.extend(fabric.queue_levels(out).get(usize::from(LOSSLESS)).map(|level| level.recent_max));
            let entry = fabric.ports_of(switch).next().unwrap();
            held.extend(fabric.group_level(entry, LOSSLESS).map(|level| level.held.recent_max));
            fabric.restart_watermarks(parts.now, out);
            fabric.restart_watermarks(parts.now, entry);
            fabric.restart_pool_watermarks(switch);
        }
        whole.run(parts.now);
        let most = |found: Vec<u64>| found.into_iter().max();
        let counters = whole.fabric.counters(whole.now, out);
        assert_eq!(parts.fabric.counters(parts.now, out), counters, "looking changes nothing");
        assert!(counters.queue_max_bytes > 30_000, "{}", counters.queue_max_bytes);
        assert!(ports.windows(2).any(|pair| pair[1] < pair[0]) && ports.last() == Some(&0));
        assert_eq!(most(ports), Some(counters.queue_max_bytes));
        let (pool, levels) = (whole.fabric.pool_level(switch), whole.fabric.queue_levels(out));
        assert_eq!(pool.map(|level| level.used.max), parts.fabric.pool_level(switch).map(|l| l.used.max));
        assert_eq!(most(pools), pool.map(|level| level.used.max));
        assert_eq!(most(queues), levels.get(usize::from(LOSSLESS)).map(|level| level.max));
        let entry = whole.fabric.ports_of(switch).next().unwrap();
        let group = whole.fabric.group_level(entry, LOSSLESS);
        assert_eq!(most(held), group.map(|level| level.held.max));
        assert_eq!(group.is_some(), config.pfc.is_some());
    }
}

#[test]
fn classes_have_watermarks_of_their_own() {
    let graph = single_switch(3, LINK).unwrap();
    let mut lab = lab(&graph, &ets(None));
    burst(&mut lab, 0..1, 2, 0, 30);
    burst(&mut lab, 1..2, 2, 5, 30);
    lab.settle(FOREVER);
    let out = port(&graph, &lab.fabric, "switch0", "host2");
    let max: Vec<u64> = lab.fabric.queue_levels(out).iter().map(|level| level.max).collect();
    let whole = lab.fabric.counters(lab.now, out).queue_max_bytes;
    assert!(max[0] > 15_000 && max[5] > 15_000 && max[0] + max[5] >= whole, "{max:?} of {whole}");
    assert_eq!(max.iter().sum::<u64>(), max[0] + max[5]);
    let host = port(&graph, &lab.fabric, "host0", "switch0");
    assert!(lab.fabric.queue_levels(host).is_empty(), "one queue for all classes");
}

#[test]
fn headroom_of_a_switch_is_that_of_its_groups() {
    let graph = single_switch(9, LINK).unwrap();
    let mut lab = lab(&graph, &ets(Some(pfc())));
    burst(&mut lab, 0..8, 8, LOSSLESS, 100);
    lab.settle(FOREVER);
    let switch = graph.find("switch0").unwrap();
    let level = lab.fabric.pool_level(switch).unwrap();
    assert_eq!((level.size, level.headroom_size), (2_000_000 - 900_000, 900_000));
    let groups = lab.fabric.ports_of(switch).filter_map(|port| lab.fabric.group_level(port, LOSSLESS));
    let each: Vec<u64> = groups.map(|group| group.headroom.max).collect();
    let most = level.headroom.max;
    assert!(each.iter().max() < Some(&most) && most <= each.iter().sum(), "{most} of {each:?}");
    assert_eq!((level.used.bytes, level.headroom.bytes), (0, 0));
}

#[test]
fn pauses_are_told_by_where_the_packets_wait() {
    // left0…left3 – switch0 – switch1 – right0…right3; all left hosts send to right0.
    let graph = dumbbell(4, 4, LINK, LINK).unwrap();
    let mut lab = lab(&graph, &ets(Some(pfc())));
    lab.fabric.explain_pauses();
    let find = |name: &str| graph.find(name).unwrap().0;
    // Two senders at the far end keep its port busy, so that the trunk is paused too.
    burst(&mut lab, find("left0")..find("left3") + 1, find("right0"), LOSSLESS, 200);
    burst(&mut lab, find("right1")..find("right2") + 1, find("right0"), LOSSLESS, 200);
    lab.run(Time::from_us(500));
    let during = lab.fabric.pause_causes(lab.now);
    assert!(during.iter().any(|(.., totals)| totals.asked_max > Time::ZERO), "open pauses count");
    lab.settle(FOREVER);
    let named = |a: &str, b: &str| port(&graph, &lab.fabric, a, b);
    let (last, trunk) = (named("switch1", "right0"), named("switch0", "switch1"));
    let back = named("switch1", "switch0");
    let found = lab.fabric.pause_causes(lab.now);
    // At the second switch the receiver's port is congested, at the first one a pause spreads.
    for (port, class, cause, totals) in &found {
        assert_eq!(*class, LOSSLESS);
        let expected = match lab.fabric.ends(*port).0 {
            node if node == graph.find("switch1").unwrap() => vec![Cause::Congested(last)],
            _ => vec![Cause::Paused(trunk), Cause::Congested(trunk)],
        };
        assert!(expected.contains(cause), "{cause:?}");
        assert!(totals.pauses > 0 && totals.asked >= totals.asked_max && totals.asked_max > Time::ZERO);
    }
    assert!(found.iter().any(|(_, _, cause, _)| *cause == Cause::Paused(trunk)));
    let trunk_asked = found.iter().find(|(port, ..)| *port == back).unwrap().3;
    // What the trunk's sender was paused is what was asked for, but for the frames' way.
    let paused = lab.fabric.pause_counters(lab.now, trunk, LOSSLESS).unwrap().paused;
    let apart = paused.as_ps().abs_diff(trunk_asked.asked.as_ps());
    assert!(apart < trunk_asked.pauses * Time::from_us(3).as_ps(), "{apart} ps of {paused}");
}

#[test]
fn a_broken_host_is_a_cause_of_its_own() {
    let graph = single_switch(2, LINK).unwrap();
    let mut lab = lab(&graph, &ets(Some(pfc())));
    lab.fabric.explain_pauses();
    let broken = port(&graph, &lab.fabric, "host1", "switch0");
    lab.fabric.pause_storm(lab.now, broken, LOSSLESS, true, &mut lab.log);
    lab.run(Time::from_us(100));
    lab.fabric.pause_storm(lab.now, broken, LOSSLESS, false, &mut lab.log);
    lab.settle(FOREVER);
    let [(port, LOSSLESS, Cause::Storm, totals)] = lab.fabric.pause_causes(lab.now)[..] else { panic!() };
    assert_eq!((port, totals.pauses, totals.asked), (broken, 1, Time::from_us(100)));
    assert_eq!(lab.fabric.ends(broken).0, NodeId(1));
}
