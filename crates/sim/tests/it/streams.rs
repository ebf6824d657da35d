//! Streams from end to end: times that can be worked out by hand, content, faults.

use crate::support::{Cluster, LINK, bulk, run};
use fabric::NodeId;
use fabric::topology::{dumbbell, leaf_spine, single_switch};
use process::{Addr, Context, Event, HostId, Payload, Process};
use proptest::prelude::*;
use sim::{Change, LinkChange, Outcome, Pause};
use std::sync::{Arc, Mutex};
use traffic::{Incast, Job, Permutation};
use units::Time;
use units::testing::cases;

#[test]
fn a_lone_flow_takes_its_bytes_at_the_links_rate() {
    let cluster = Cluster::new(dumbbell(1, 1, LINK, LINK).unwrap());
    let (pause, records) = run(&mut cluster.job(&bulk(&[(0, 1)], 100_000_000)));
    assert_eq!(pause, Pause::Finished);
    let flow = &records.flows[0];
    let took = flow.end.unwrap().as_secs_f64();
    // 68,494 segments of 1460 bytes, 1538 on the wire, at 10 Gb/s; slow start costs less than a millisecond.
    let ideal = 100e6 / 1460.0 * 1538.0 * 0.8e-9;
    assert!(took > ideal && took < ideal + 0.001, "{took} for {ideal}");
    assert_eq!((flow.bytes, flow.retransmits, flow.outcome), (100_000_000, 0, Outcome::Finished));
    // Three links each way: 6 µs, and the wire time of a segment and its acknowledgement.
    let rtt = flow.min_rtt.as_ps();
    assert!(rtt > 6_000_000 && rtt < 12_000_000, "{}", flow.min_rtt);
}

#[test]
fn competing_flows_share_a_bottleneck() {
    let cluster = Cluster::new(dumbbell(4, 4, LINK, LINK).unwrap()).dctcp();
    let (_, records) = run(&mut cluster.job(&bulk(&[(0, 4), (1, 5), (2, 6), (3, 7)], 50_000_000)));
    let ends: Vec<f64> = records.flows.iter().map(|flow| flow.end.unwrap().as_secs_f64()).collect();
    let ideal = 4.0 * 50e6 / 1460.0 * 1538.0 * 0.8e-9;
    let last = ends.iter().copied().fold(0.0, f64::max);
    assert!(last > ideal && last < 1.03 * ideal, "{last} for {ideal}");
    assert!(ends.iter().all(|end| *end > 0.8 * last), "{ends:?}");
}

#[test]
fn incast_into_a_shallow_port_loses_and_recovers() {
    let cluster = Cluster::new(single_switch(33, LINK).unwrap());
    let senders = (0..32).map(HostId).collect();
    let job = Job::Incast(Incast { senders, receiver: HostId(32), bytes: 1_000_000, rounds: 2 });
    let mut sim = cluster.job(&job);
    let (pause, records) = run(&mut sim);
    assert_eq!(pause, Pause::Finished);
    assert_eq!(records.flows.len(), 64);
    assert!(records.flows.iter().all(|flow| flow.bytes == 1_000_000 && flow.to.host == HostId(32)));
    assert!(records.flows.iter().map(|flow| flow.retransmits).sum::<u64>() > 0);
    let first = records.flows.iter().filter(|flow| flow.group == 0).map(|flow| flow.end.unwrap()).max();
    let second = records.flows.iter().filter(|flow| flow.group == 1).map(|flow| flow.start).min();
    assert!(first <= second, "the second round begins when the first has ended");
}

#[test]
fn a_port_nobody_listens_on_refuses() {
    struct Caller(Arc<Mutex<Vec<Event>>>);
    impl Process for Caller {
        fn handle(&mut self, event: Event, cx: &mut dyn Context) {
            if event == Event::Start {
                cx.open(Addr { host: HostId(1), port: 9 }, 0);
            } else {
                cx.finish();
            }
            self.0.lock().unwrap().push(event);
        }
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let cluster = Cluster::new(single_switch(2, LINK).unwrap());
    let mut sim = cluster.processes(vec![(HostId(0), Box::new(Caller(log.clone())))]);
    let (pause, records) = run(&mut sim);
    assert_eq!(pause, Pause::Finished);
    assert!(matches!(log.lock().unwrap()[1], Event::Closed { reason: process::CloseReason::Refused, .. }));
    assert_eq!(records.flows[0].outcome, Outcome::Refused);
}

/// Sends what it was given and closes.
struct Sender(Payload);

impl Process for Sender {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        let stream = match event {
            Event::Start => cx.open(Addr { host: HostId(1), port: 7 }, 0),
            Event::Writable { stream } => stream,
            _ => return,
        };
        let taken = cx.write(stream, self.0.clone());
        self.0.split_to(taken);
        if self.0.is_empty() {
            cx.close(stream);
        }
    }
}

/// Keeps what it reads, a bit at a time.
struct Keeper(Arc<Mutex<Vec<u8>>>);

impl Process for Keeper {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => cx.listen(7),
            Event::Readable { stream } => loop {
                let read = cx.read(stream, 999);
                for piece in &read.data {
                    let Payload::Data(bytes) = piece else { panic!("real bytes were sent") };
                    self.0.lock().unwrap().extend_from_slice(bytes);
                }
                if read.end {
                    cx.close(stream);
                    return cx.finish();
                }
                if read.is_empty() {
                    return;
                }
            },
            _ => {}
        }
    }
}

fn loss(p: f64) -> (Time, Change) {
    (Time::ZERO, Change::Link(NodeId(0), NodeId(2), LinkChange::Loss(p)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]
    #[test]
    fn content_arrives_as_it_was_sent(seed in any::<u64>(), length in 1usize..200_000, percent in 0u32..8, sack in any::<bool>()) {
        let mut cluster = Cluster::new(single_switch(2, LINK).unwrap());
        cluster.seed = seed;
        cluster.tcp.sack = sack;
        cluster.faults = vec![loss(f64::from(percent) / 100.0)];
        let bytes: Vec<u8> = (0..length).map(|i| (i * 31 + i / 251) as u8).collect();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let sender = Sender(Payload::from(bytes.clone()));
        let mut sim = cluster.processes(vec![
            (HostId(0), Box::new(sender)),
            (HostId(1), Box::new(Keeper(kept.clone()))),
        ]);
        cluster.until = Time::from_secs(1000);
        let (_, records) = run(&mut sim);
        prop_assert_eq!(records.flows.len(), 1);
        prop_assert!(*kept.lock().unwrap() == bytes);
    }
}

#[test]
fn flows_go_around_a_link_that_goes_down() {
    let mut cluster = Cluster::new(leaf_spine(&[2, 2], 2, 1, LINK, LINK).unwrap());
    let leaf = NodeId(4);
    cluster.faults = vec![(Time::from_ms(1), Change::Link(leaf, NodeId(6), LinkChange::Down))];
    let mut sim = cluster.job(&bulk(&[(0, 2), (1, 3)], 20_000_000));
    let (pause, records) = run(&mut sim);
    assert_eq!(pause, Pause::Finished);
    assert!(records.flows.iter().all(|flow| flow.outcome == Outcome::Finished));
    assert_eq!(records.events[0].1, "link-down");
}

#[test]
fn a_partition_ends_in_time_outs_and_not_in_a_hang() {
    let mut cluster = Cluster::new(dumbbell(1, 1, LINK, LINK).unwrap());
    cluster.tcp.rto_max = Time::from_secs(1).into();
    cluster.faults = vec![(Time::from_ms(1), Change::Link(NodeId(2), NodeId(3), LinkChange::Down))];
    let (pause, records) = run(&mut cluster.job(&bulk(&[(0, 1)], 20_000_000)));
    assert_eq!(records.flows[0].outcome, Outcome::TimedOut);
    assert_eq!(pause, Pause::Finished);
}

#[test]
fn a_crashed_host_resets_when_it_is_back() {
    let mut cluster = Cluster::new(dumbbell(1, 1, LINK, LINK).unwrap());
    cluster.faults = vec![(Time::from_ms(2), Change::Crash(1)), (Time::from_ms(300), Change::Restart(1))];
    let mut sim = cluster.job(&bulk(&[(0, 1)], 20_000_000));
    let (pause, records) = run(&mut sim);
    assert_eq!(pause, Pause::Finished);
    assert_eq!(records.flows[0].outcome, Outcome::Reset);
    assert_eq!(sim.host_record(1).crashes, 1);
}

#[test]
fn runs_repeat_and_seeds_differ() {
    let fingerprint = |seed| {
        let mut cluster = Cluster::new(leaf_spine(&[4, 4], 2, 1, LINK, LINK).unwrap()).dctcp();
        cluster.seed = seed;
        let job = Job::Permutation(Permutation { hosts: (0..8).map(HostId).collect(), bytes: 300_000 });
        let mut sim = cluster.job(&job);
        run(&mut sim);
        sim.progress().fingerprint
    };
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1), fingerprint(2));
}

#[test]
fn two_runs_that_part_are_told_where() {
    let graph = single_switch(2, LINK).unwrap();
    let cluster = Cluster::new(graph.clone());
    let mut other = Cluster::new(graph);
    other.faults = vec![(Time::from_us(50), Change::Link(NodeId(0), NodeId(2), LinkChange::Loss(1.0)))];
    let job = bulk(&[(0, 1)], 300_000);
    assert_eq!(sim::diverge(&mut cluster.job(&job), &mut cluster.job(&job), |_| true), None);
    let found = sim::diverge(&mut cluster.job(&job), &mut other.job(&job), |_| true).unwrap();
    assert!(found.second.starts_with("50us: Change"), "{found:?}");
}

#[test]
fn what_was_sent_before_both_sides_finished_can_still_be_read() {
    /// Asks, closes its side at once, and reads slowly.
    struct Slow(Arc<Mutex<(u64, Vec<Event>)>>);
    impl Process for Slow {
        fn handle(&mut self, event: Event, cx: &mut dyn Context) {
            match event {
                Event::Start => {
                    let stream = cx.open(Addr { host: HostId(1), port: 7 }, 0);
                    cx.close(stream);
                    cx.set_timer(stream.0, Time::from_ms(10));
                }
                Event::Timer { token } => {
                    let read = cx.read(process::StreamId(token), 1_000);
                    self.0.lock().unwrap().0 += read.len();
                    if !read.end {
                        cx.set_timer(token, Time::from_ms(1));
                    }
                }
                event => self.0.lock().unwrap().1.push(event),
            }
        }
    }
    struct Quick;
    impl Process for Quick {
        fn handle(&mut self, event: Event, cx: &mut dyn Context) {
            match event {
                Event::Start => cx.listen(7),
                Event::Accepted { stream, .. } => {
                    cx.write(stream, Payload::Zeros(20_000));
                    cx.close(stream);
                }
                Event::Readable { stream } => drop(cx.read(stream, 1)),
                _ => {}
            }
        }
    }
    let seen = Arc::new(Mutex::new((0, Vec::new())));
    let cluster = Cluster::new(single_switch(2, LINK).unwrap());
    let mut sim =
        cluster.processes(vec![(HostId(0), Box::new(Slow(seen.clone()))), (HostId(1), Box::new(Quick))]);
    let (_, records) = run(&mut sim);
    assert_eq!(records.flows[0].outcome, Outcome::Finished);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.0, 20_000);
    assert!(matches!(seen.1.last(), Some(Event::Closed { reason: process::CloseReason::Finished, .. })));
}
