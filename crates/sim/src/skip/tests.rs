//! That clocks which are moved change nothing else, and what skipping does to long flows.

use super::watch::Steady;
use crate::records::{FlowRecord, Records};
use crate::{Change, HostConfig, JobSetup, LinkChange, Pause, Setup, Sim, rng};
use fabric::topology::single_switch;
use fabric::{Buffer, Depth, Framing, LinkProps, NodeId, PortId, Queue, RedConfig, SwitchConfig};
use process::HostId;
use proptest::prelude::*;
use std::collections::BTreeSet;
use traffic::{AllToAll, Bulk, Flow, HostInfo, Job, Order, Replay};
use transport::tcp::{self, Congestion, EcnMode};
use units::testing::cases;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
const SENDERS: [Congestion; 5] =
    [Congestion::Reno, Congestion::Cubic, Congestion::Dctcp, Congestion::Htcp, Congestion::Bbr];

fn switches() -> [SwitchConfig; 4] {
    let limit = Depth::Packets(64);
    let red = RedConfig {
        min: Depth::Packets(10),
        max: Depth::Packets(40),
        max_p: 0.1,
        weight: 0.05,
        gentle: true,
        ecn: true,
    };
    let codel = fabric::CodelConfig { target: Time::from_us(5), interval: Time::from_us(50), ecn: false };
    let shared = Buffer::Shared {
        size: Bytes::new(200_000),
        alpha: 1.0,
        reserve: Bytes::new(1500),
        cell: Bytes::new(208),
    };
    let with = |buffer, queue| SwitchConfig { buffer, queue, ..SwitchConfig::default() };
    [
        with(Buffer::Static { limit }, Queue::TailDrop {}),
        with(Buffer::Static { limit }, Queue::Red(red)),
        with(Buffer::Static { limit }, Queue::Codel(codel)),
        with(shared, Queue::Step { threshold: Depth::Packets(20) }),
    ]
}

/// A simulation of `job` on five hosts at a switch. Some packets are lost on the way to the first.
fn sim(congestion: Congestion, switch: SwitchConfig, loss: f64, job: &Job) -> Sim {
    let ecn = if congestion == Congestion::Dctcp { EcnMode::On } else { EcnMode::Off };
    let tcp = tcp::Config { congestion, ecn, timestamps: true, ..tcp::Config::default() };
    let host = HostConfig { mtu: 1500, tcp: tcp.into(), ..HostConfig::default() };
    let infos = vec![HostInfo { rate: LINK.rate, mtu: Bytes::new(1500) }; 5];
    let processes = traffic::build(job, &infos, &mut rng::stream(1, "plan"), 5000).unwrap();
    let lossy = Change::Link(NodeId(0), NodeId(5), LinkChange::Loss(loss));
    Sim::new(Setup {
        graph: single_switch(5, LINK).unwrap(),
        framing: Framing::ETHERNET,
        seed: 1,
        switches: vec![switch],
        hosts: vec![host; 5],
        jobs: vec![JobSetup {
            name: "job".into(),
            kind: "test".into(),
            start: Time::ZERO,
            class: 0,
            background: false,
            processes,
        }],
        faults: vec![(Time::ZERO, lossy)],
        until: Time::from_secs(1000),
    })
}

fn finished(sim: &mut Sim) -> Records {
    while sim.run(1 << 20) == Pause::Running {}
    sim.close();
    sim.take_records()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// Everything after the move happens as it would have, so much later.
    #[test]
    fn clocks_that_are_moved_change_nothing_else(
        congestion in 0..5usize,
        switch in 0..4usize,
        loss in prop_oneof![Just(0.0), Just(0.01)],
        before in 2u64..15_000,
        us in 1u64..10_000_000,
        early in prop_oneof![Just(0), 1u64..10_000_000],
    ) {
        let hosts = (0..5).map(HostId).collect();
        let job = AllToAll { hosts, bytes: 300_000, parallel: 2, order: Order::Same, skew: Time::ZERO };
        let [mut moved, mut other] = [(); 2].map(|()| {
            let mut sim = sim(SENDERS[congestion], switches()[switch].clone(), loss, &Job::AllToAll(job.clone()));
            sim.skip_steady_states().unwrap();
            look_at_nothing(&mut sim);
            sim.run(before);
            sim.run_to(sim.net.now, u64::MAX);
            sim
        });
        let (by, at) = (Time::from_us(us), moved.net.now);
        sleep(&mut moved, by + Time::from_us(early));
        moved.run_to(at + by, u64::MAX);
        moved.disturb_all();
        look_at_nothing(&mut moved);
        let late = |time: Time| if time > at { time + by } else { time };
        let (found, mut wanted) = (finished(&mut moved), finished(&mut other));
        for flow in &mut wanted.flows {
            let FlowRecord { start, end, .. } = flow;
            (*start, *end) = (late(*start), end.map(late));
        }
        prop_assert_eq!(found.flows, wanted.flows);
        let (now, then) = (moved.net.now, other.net.now);
        for port in other.network().ports().collect::<Vec<_>>() {
            prop_assert_eq!(moved.network().counters(now, port), other.network().counters(then, port));
        }
    }
}

fn look_at_nothing(sim: &mut Sim) {
    let skip = sim.skip.as_mut().unwrap();
    (skip.gather_at, skip.look_at) = (Time::ZERO, Time::ZERO);
}

/// Lets all flows sleep for a time, as if they did nothing.
fn sleep(sim: &mut Sim, by: Time) {
    sim.gather();
    let skip = sim.skip.as_mut().unwrap();
    let areas: Vec<u32> = skip.areas.iter().map(|(number, _)| number).collect();
    for number in areas {
        let area = skip.areas.get_mut(number).unwrap();
        (area.steady, area.asleep, area.due) = (Some(Steady::nothing()), Some(sim.net.now), sim.net.now + by);
    }
    sim.retime(|_, time| time.saturating_add(by));
}

/// Two runs of flows from the first four hosts: with all steady states, and without.
fn both(congestion: Congestion, pairs: &[(u32, u32)], bytes: u64) -> [(Sim, Records); 2] {
    let pairs = pairs.iter().map(|(a, b)| (HostId(*a), HostId(*b))).collect();
    let job = Job::Bulk(Bulk { pairs, bytes });
    [false, true].map(|skips| {
        let mut sim = sim(congestion, switches()[3].clone(), 0.0, &job);
        if skips {
            sim.skip_steady_states().unwrap();
        }
        sim.sample(Time::from_us(700), [PortId(0), PortId(8)], true);
        let records = finished(&mut sim);
        (sim, records)
    })
}

/// Whether two figures are the same within a hundredth.
fn alike(a: u64, b: u64) -> bool {
    100 * a.abs_diff(b) <= a.max(b)
}

#[test]
fn flows_without_competition_end_when_they_would_have() {
    // BBR measures the round trip every ten seconds, so what it does is never said to be steady.
    for congestion in SENDERS.into_iter().filter(|each| *each != Congestion::Bbr) {
        let [(mut exact, all), (mut skipping, found)] = both(congestion, &[(0, 1), (2, 3)], 200_000_000);
        let skipped = skipping.skipped_hops().expect("it skips");
        assert!(skipped > skipping.hops, "{congestion:?}: {skipped}");
        assert!(2 * skipping.events < exact.events, "{congestion:?}: {}", skipping.events);
        for (exact, flow) in all.flows.iter().zip(&found.flows) {
            assert_eq!((flow.bytes, flow.outcome), (exact.bytes, exact.outcome));
            let took = |flow: &FlowRecord| (flow.end.unwrap() - flow.start).as_ps();
            assert!(alike(took(flow), took(exact)), "{congestion:?}: {flow:?} {exact:?}");
            assert!(alike(flow.sent_packets, exact.sent_packets) && alike(flow.sent_bytes, exact.sent_bytes));
        }
        let (now, then) = (skipping.net.now, exact.net.now);
        for port in exact.network().ports().collect::<Vec<_>>() {
            let [found, wanted] =
                [skipping.network().counters(now, port), exact.network().counters(then, port)];
            assert!(alike(found.sent_bytes, wanted.sent_bytes), "{port:?} {found:?} {wanted:?}");
            assert!(alike(found.busy.as_ps(), wanted.busy.as_ps()));
        }
        for host in 0..4 {
            let [found, wanted] = [skipping.host_record(host), exact.host_record(host)];
            assert!(alike(found.received_packets, wanted.received_packets));
        }
        // Samples go on as if nothing had been skipped, and together they are what ports counted.
        let interval = Time::from_us(700);
        let times: BTreeSet<Time> = found.ports.iter().map(|(at, ..)| *at).collect();
        assert!((1..).zip(&times).all(|(number, at)| *at == interval.saturating_mul(number)));
        assert!(times.len() as u64 >= now.as_ps() / interval.as_ps());
        let sampled: u64 =
            found.ports.iter().filter(|(_, port, _)| port.0 == 0).map(|(.., s)| s.sent_bytes).sum();
        assert!(alike(sampled, skipping.network().counters(now, PortId(0)).sent_bytes));
        let acked = found.flow_samples.iter().map(|(_, flow)| flow.acked).max();
        assert!(acked.is_some_and(|acked| alike(acked, 200_000_000)), "{acked:?}");
    }
}

#[test]
fn a_busy_corner_keeps_nobody_else_awake() {
    let flow = |at, from, to, bytes| Flow { at, from: HostId(from), to: HostId(to), bytes, group: 0 };
    let long = flow(Time::ZERO, 0, 1, 20_000_000);
    let short = |at: u64| [2, 4].map(|from| flow(Time::from_us(at), from, 3, 50_000));
    let flows = [long].into_iter().chain((0..20_000).step_by(100).flat_map(short));
    let job = Job::Replay(Replay { flows: flows.collect() });
    for (switch, is_shared) in [(0, false), (3, true)] {
        let [(_, exact), (skipping, found)] = [false, true].map(|skips| {
            let mut sim = sim(Congestion::Cubic, switches()[switch].clone(), 0.0, &job);
            if skips {
                sim.skip_steady_states().unwrap();
            }
            let mut flows = finished(&mut sim).flows;
            flows.sort_by_key(|flow| flow.flow);
            (sim, flows)
        });
        let took = |flows: &[FlowRecord]| (flows[0].end.unwrap() - flows[0].start).as_ps();
        assert!(alike(took(&exact), took(&found)));
        // A packet crosses two links.
        let skipped = skipping.skipped_hops().unwrap();
        assert!(skipped > exact[0].sent_packets, "{skipped} {}", exact[0].sent_packets);
        if !is_shared {
            assert_eq!(exact[1..], found[1..], "what goes on elsewhere changes nothing");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    /// Whatever comes in between, at whatever time: every flow gets its bytes, and long ones last as long as
    /// they would have.
    #[test]
    fn areas_are_woken_by_whatever_crosses_them(
        congestion in 0..4usize,
        switch in 0..4usize,
        short in prop::collection::vec((0u64..20_000_000_000, 0u32..5, 1u32..5, 1u64..100_000), 0..12),
    ) {
        let flow = |at, from, to, bytes| Flow { at, from: HostId(from), to: HostId(to), bytes, group: 0 };
        let mut flows = vec![flow(Time::ZERO, 0, 1, 20_000_000), flow(Time::ZERO, 2, 3, 20_000_000)];
        let brief = |&(at, from, by, bytes)| flow(Time::from_ps(at), from, (from + by) % 5, bytes);
        flows.extend(short.iter().map(brief));
        flows.sort_by_key(|flow| flow.at);
        let job = Job::Replay(Replay { flows: flows.into_iter().collect() });
        let [exact, found] = [false, true].map(|skips| {
            let mut sim = sim(SENDERS[congestion], switches()[switch].clone(), 0.0, &job);
            if skips {
                sim.skip_steady_states().unwrap();
            }
            sim.sample(Time::from_us(333), [PortId(0)], true);
            let mut flows = finished(&mut sim).flows;
            flows.sort_by_key(|flow| flow.flow);
            flows
        });
        for (exact, flow) in exact.iter().zip(&found) {
            prop_assert_eq!((flow.flow, flow.bytes, flow.outcome), (exact.flow, exact.bytes, exact.outcome));
            // Whose last packet meets a full queue is chance.
            let waits = |flow: &FlowRecord| flow.tail_loss_probes + flow.timeouts > 0;
            if flow.bytes > 1_000_000 && !waits(flow) && !waits(exact) {
                let took = |flow: &FlowRecord| (flow.end.unwrap() - flow.start).as_ps();
                prop_assert!(alike(took(flow), took(exact)), "{:?} {:?}", flow, exact);
            }
        }
    }
}

#[test]
fn what_comes_at_a_set_time_comes_then() {
    let flow = |at, from, to, bytes| Flow { at, from: HostId(from), to: HostId(to), bytes, group: 0 };
    let due = Time::from_ps(123_456_789_012);
    let flows = [flow(Time::ZERO, 1, 2, 500_000_000), flow(due, 3, 4, 20_000)];
    let [alone, beside] = [&flows[1..], &flows[..]].map(|flows| {
        let job = Job::Replay(Replay { flows: flows.iter().copied().collect() });
        let mut sim = sim(Congestion::Cubic, switches()[0].clone(), 0.0, &job);
        sim.skip_steady_states().unwrap();
        let short = finished(&mut sim).flows.into_iter().find(|flow| flow.bytes == 20_000);
        (sim.skipped_hops().unwrap(), short.expect("it is short"))
    });
    assert_eq!((beside.1.start, beside.1.end), (due, alone.1.end));
    assert!(beside.0 > 900_000, "{}", beside.0);
}

#[test]
fn what_has_clocks_of_its_own_is_refused() {
    let job = Job::Bulk(Bulk { pairs: vec![(HostId(0), HostId(1))], bytes: 1 });
    let mut sim = sim(Congestion::Cubic, switches()[0].clone(), 0.0, &job);
    sim.capture(PortId(0));
    assert_eq!(sim.skip_steady_states(), Err("captures"));
}
