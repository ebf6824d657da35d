//! What packets take at the host that they come to, against a queue computed by hand.

use crate::support::{Cluster, LINK, bulk, run};
use fabric::topology::{leaf_spine, single_switch};
use process::{Addr, Context, Event, HostId, Payload, Process};
use proptest::prelude::*;
use sim::{Change, Outcome, Pause};
use std::sync::{Arc, Mutex};
use units::Time;
use units::testing::cases;

/// Sends a datagram to host 0 at each of these times.
struct Sender(Vec<Time>);

impl Process for Sender {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => (0..).zip(&self.0).for_each(|(token, at)| cx.set_timer(token, *at)),
            Event::Timer { .. } => cx.send(9, Addr { host: HostId(0), port: 7 }, Payload::Zeros(100)),
            _ => {}
        }
    }
}

type Log = Arc<Mutex<Vec<(Time, bool)>>>;

/// Computes from the start on, and keeps when datagrams came and when it was done.
struct Receiver(Option<Time>, Log);

impl Process for Receiver {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if event == Event::Start {
            cx.bind(7);
            if let Some(time) = self.0 {
                cx.compute(0, time);
            }
        } else {
            self.1.lock().unwrap().push((cx.now(), matches!(event, Event::Datagram { .. })));
        }
    }
}

/// When a host that computes for `work` got the datagrams sent at these times by others, and when it was
/// done.
fn told(cluster: &Cluster, work: Option<Time>, sent: &[Vec<Time>]) -> Vec<(Time, bool)> {
    let log = Log::default();
    let mut processes: Vec<(HostId, Box<dyn Process>)> =
        vec![(HostId(0), Box::new(Receiver(work, log.clone())))];
    for (host, times) in (1..).zip(sent) {
        processes.push((HostId(host), Box::new(Sender(times.clone()))));
    }
    run(&mut cluster.processes(processes));
    log.lock().unwrap().clone()
}

fn datagrams(told: &[(Time, bool)]) -> Vec<Time> {
    told.iter().filter(|(_, datagram)| *datagram).map(|(time, _)| *time).collect()
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::new(single_switch(4, LINK).unwrap());
    cluster.cores = 1;
    cluster
}

/// Times within a millisecond, of three senders.
fn times() -> impl Strategy<Value = Vec<Vec<Time>>> {
    let time = (0..1_000_000u64).prop_map(Time::from_ns);
    prop::collection::vec(prop::collection::vec(time, 0..20), 3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn one_after_the_other_each_for_its_cost(sent in times(), cost in 0..200u64) {
        let cost = Time::from_us(cost);
        let came = datagrams(&told(&cluster(), None, &sent));
        let costly = Cluster { packet_cost: cost, ..cluster() };
        let mut free = Time::ZERO;
        let queue = came.into_iter().map(|at| { free = at.max(free) + cost; free });
        prop_assert_eq!(datagrams(&told(&costly, None, &sent)), queue.collect::<Vec<_>>());
    }

    #[test]
    fn each_late_by_a_part_of_the_jitter(sent in times(), cost in 0..50u64, jitter in 1..200u64) {
        let (cost, jitter) = (Time::from_us(cost), Time::from_us(jitter));
        let came = datagrams(&told(&cluster(), None, &sent));
        let costly = Cluster { packet_cost: cost, packet_jitter: jitter, ..cluster() };
        let ended = datagrams(&told(&costly, None, &sent));
        let punctual = datagrams(&told(&Cluster { packet_cost: cost, ..cluster() }, None, &sent));
        prop_assert_eq!(came.len(), ended.len());
        prop_assert!(ended.is_sorted());
        let late: Vec<Time> = ended.iter().zip(&punctual).map(|(end, punctual)| *end - *punctual).collect();
        prop_assert!(late.iter().all(|late| *late <= jitter), "{late:?}");
        prop_assert!(late.len() < 2 || late.windows(2).any(|pair| pair[0] != pair[1]), "{late:?}");
        prop_assert_eq!(datagrams(&told(&costly, None, &sent)), ended);
    }

    #[test]
    fn behind_the_slice_under_way(sent in times(), cost in 0..50u64, slice in 1..400u64, work in 1..1500u64) {
        let (cost, slice, work) = (Time::from_us(cost), Time::from_us(slice), Time::from_us(work));
        let came = datagrams(&told(&cluster(), None, &sent));
        let sliced = Cluster { packet_cost: cost, time_slice: slice, ..cluster() };
        // The core is free when the work is over and what packets have taken meanwhile.
        let (mut free, mut core) = (Time::ZERO, work);
        let queue = came.into_iter().map(|at| {
            let end = Time::from_ps(at.as_ps().div_ceil(slice.as_ps()) * slice.as_ps()).min(core);
            let begin = at.max(free).max(if core > at { end } else { at });
            free = begin + cost;
            core = core.max(begin) + cost;
            free
        });
        let queue: Vec<Time> = queue.collect();
        prop_assert_eq!(datagrams(&told(&sliced, Some(work), &sent)), queue);
    }
}

/// Waits for the first datagram with its work.
struct After(Log);

impl Process for After {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => cx.bind(7),
            Event::Datagram { .. } => cx.compute(0, Time::from_ms(1)),
            _ => self.0.lock().unwrap().push((cx.now(), false)),
        }
    }
}

#[test]
fn computations_wait_for_packets_and_a_slow_host_takes_longer() {
    let cost = Time::from_us(100);
    let sent = [vec![Time::ZERO, Time::ZERO], vec![]];
    let end = |speed| {
        let mut cluster = Cluster { packet_cost: cost, ..cluster() };
        cluster.faults = vec![(Time::ZERO, Change::Slow(0, speed))];
        let log = Log::default();
        let processes: Vec<(HostId, Box<dyn Process>)> =
            vec![(HostId(0), Box::new(After(log.clone()))), (HostId(1), Box::new(Sender(sent[0].clone())))];
        run(&mut cluster.processes(processes));
        log.lock().unwrap().clone()
    };
    let first = datagrams(&told(&cluster(), None, &sent))[0];
    // The second packet is in line already when the first one's work begins.
    let expected = |times: u64| {
        [(1, 2), (2, 2)]
            .map(|(works, packets)| (first + Time::from_us(times * (1000 * works + 100 * packets)), false))
    };
    assert_eq!(end(1_000_000), expected(1));
    assert_eq!(end(500_000), expected(2));
}

#[test]
fn what_waits_at_a_host_that_crashes_is_lost() {
    let mut cluster = Cluster { packet_cost: Time::from_ms(1), ..cluster() };
    cluster.faults = vec![(Time::from_us(2500), Change::Crash(0))];
    let sent = [vec![Time::ZERO; 5], vec![]];
    assert_eq!(datagrams(&told(&cluster, None, &sent)).len(), 2);
}

#[test]
fn a_connection_is_as_fast_as_its_receiver() {
    let cluster = Cluster {
        packet_cost: Time::from_us(20),
        ..Cluster::new(leaf_spine(&[1, 1], 1, 1, LINK, LINK).unwrap())
    };
    let mut sim = cluster.job(&bulk(&[(0, 1)], 14_600_000));
    let (pause, records) = run(&mut sim);
    assert_eq!((pause, records.flows[0].outcome), (Pause::Finished, Outcome::Finished));
    let took = (records.flows[0].end.unwrap() - records.flows[0].start).as_secs_f64();
    // 10,000 segments of 20 us each; the wire takes 1.2 us for one.
    assert!((0.2..0.21).contains(&took), "{took}");
    let acknowledged = records.flows[0].srtt;
    assert!(acknowledged > Time::from_us(40), "two packets at least: {acknowledged}");
}

#[test]
fn connections_end_however_often_a_host_crashes() {
    let mut cluster =
        Cluster { packet_cost: Time::from_us(50), ..Cluster::new(single_switch(4, LINK).unwrap()) };
    cluster.time_slice = Time::from_us(300);
    cluster.faults = (1..10)
        .map(|ms| (Time::from_ms(ms), if ms % 2 == 1 { Change::Crash(0) } else { Change::Restart(0) }))
        .collect();
    let mut sim = cluster.job(&bulk(&[(1, 0), (2, 0), (3, 0)], 300_000));
    let (_, records) = run(&mut sim);
    assert!(records.flows.iter().all(|flow| flow.outcome != Outcome::Unfinished), "{:?}", records.flows);
}
