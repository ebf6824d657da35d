//! What a host gives its processes: cores, a disk, timers, datagrams; and the turns that flows take at its
//! ports.

use crate::support::{Cluster, LINK, bulk, run};
use fabric::topology::{leaf_spine, single_switch};
use fabric::{Graph, Link, LinkProps, NodeId};
use process::{Addr, CloseReason, Context, Event, HostId, Payload, Process, StreamId};
use sim::{Change, LinkChange, Outcome, Pause, TaskOutcome};
use std::sync::{Arc, Mutex};
use units::{Rate, Time};

type Log = Arc<Mutex<Vec<(Time, Event)>>>;

/// Does `begin` at the start and keeps what it is told.
struct Scripted<F>(F, Log);

impl<F: FnMut(&mut dyn Context) + Send> Process for Scripted<F> {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if event == Event::Start {
            (self.0)(cx);
        } else {
            self.1.lock().unwrap().push((cx.now(), event));
        }
    }
}

fn scripted(begin: impl FnMut(&mut dyn Context) + Send + 'static) -> (Box<dyn Process>, Log) {
    let log = Log::default();
    (Box::new(Scripted(begin, log.clone())), log)
}

/// What a lone host is told after `begin`.
fn alone(begin: impl FnMut(&mut dyn Context) + Send + 'static) -> Vec<(Time, Event)> {
    let cluster = Cluster::new(single_switch(2, LINK).unwrap());
    let (process, log) = scripted(begin);
    let mut sim = cluster.processes(vec![(HostId(0), process)]);
    assert_eq!(run(&mut sim).0, Pause::Idle);
    log.lock().unwrap().clone()
}

#[test]
fn work_waits_for_a_free_core() {
    // Two cores.
    let told = alone(|cx| (0..3).for_each(|token| cx.compute(token, Time::from_ms(10 + token))));
    let expected = [(10, 0), (11, 1), (22, 2)];
    let expected = expected.map(|(ms, token)| (Time::from_ms(ms), Event::Computed { token }));
    assert_eq!(told, expected);
}

#[test]
fn a_disk_serves_one_after_the_other_at_its_rate() {
    // 500 MB/s: 5 MB take 10 ms.
    let told = alone(|cx| {
        cx.disk_read(1, 5_000_000);
        cx.disk_write(2, 10_000_000);
    });
    let expected = [(10, 1), (30, 2)];
    assert_eq!(told, expected.map(|(ms, token)| (Time::from_ms(ms), Event::DiskDone { token })));
}

/// Computes for 10 ms, from 1 ms on.
struct Later(Log);

impl Process for Later {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => cx.set_timer(0, Time::from_ms(1)),
            Event::Timer { .. } => cx.compute(1, Time::from_ms(10)),
            other => self.0.lock().unwrap().push((cx.now(), other)),
        }
    }
}

#[test]
fn a_slow_host_takes_longer_and_a_crash_forgets() {
    let told = |fault| {
        let mut cluster = Cluster::new(single_switch(2, LINK).unwrap());
        cluster.faults = vec![fault];
        let log = Log::default();
        run(&mut cluster.processes(vec![(HostId(0), Box::new(Later(log.clone())))]));
        log.lock().unwrap().clone()
    };
    let done = Event::Computed { token: 1 };
    assert_eq!(told((Time::ZERO, Change::Slow(0, 250_000))), [(Time::from_ms(41), done)]);
    assert_eq!(told((Time::from_ms(5), Change::Crash(0))), []);
}

#[test]
fn a_timer_set_again_moves_and_a_cancelled_one_is_silent() {
    let told = alone(|cx| {
        cx.set_timer(1, Time::from_ms(1));
        cx.set_timer(1, Time::from_ms(5));
        cx.set_timer(2, Time::from_ms(2));
        cx.cancel_timer(2);
        cx.set_timer(3, Time::from_ms(3));
    });
    let expected = [(3, 3), (5, 1)];
    assert_eq!(told, expected.map(|(ms, token)| (Time::from_ms(ms), Event::Timer { token })));
}

#[test]
fn datagrams_arrive_once_where_they_are_bound_and_never_larger_than_the_mtu() {
    let (sender, _) = scripted(|cx| {
        for (port, bytes) in [(7, 100), (8, 100), (7, 1472), (7, 1473)] {
            cx.send(9, Addr { host: HostId(1), port }, Payload::Zeros(bytes));
        }
    });
    let (receiver, log) = scripted(|cx| cx.bind(7));
    let cluster = Cluster::new(single_switch(2, LINK).unwrap());
    let mut sim = cluster.processes(vec![(HostId(0), sender), (HostId(1), receiver)]);
    run(&mut sim);
    let sizes: Vec<u64> = log
        .lock()
        .unwrap()
        .iter()
        .map(|(_, event)| match event {
            Event::Datagram { data, port: 7, .. } => data.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [100, 1472]);
    let totals = sim.datagram_records()[0];
    assert_eq!((totals.sent_packets, totals.received_packets), (4, 2));
}

#[test]
fn flows_of_a_host_share_its_nic_evenly() {
    let cluster = Cluster::new(leaf_spine(&[1, 4], 4, 1, LINK, LINK).unwrap());
    let mut sim = cluster.job(&bulk(&[(0, 1), (0, 2), (0, 3), (0, 4)], 5_000_000));
    let (_, records) = run(&mut sim);
    let ends: Vec<f64> = records.flows.iter().map(|flow| flow.end.unwrap().as_secs_f64()).collect();
    let (first, last) =
        (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(0.0, f64::max));
    assert!(first > 0.85 * last, "{ends:?}");
    assert!(
        records.flows.iter().all(|flow| flow.retransmits == 0),
        "the NIC holds flows back, it does not drop"
    );
}

/// A link on which what a NIC may hold takes 25.6 ms.
const SLOW: LinkProps = LinkProps { rate: Rate::from_bps(10_000_000), ..LINK };

/// Two hosts and two switches with windows for more than what a NIC's queue has room for.
fn wide(links: &[(u32, u32, LinkProps)]) -> Cluster {
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    let link = |&(a, b, props)| Link { a: NodeId(a), b: NodeId(b), ab: props, ba: props };
    let links = links.iter().map(link).collect();
    let mut cluster = Cluster::new(Graph::new(names(["host0", "host1"]), names(["x", "y"]), links).unwrap());
    (cluster.tcp.receive_buffer, cluster.tcp.receive_buffer_max) = (6 << 20, 6 << 20);
    cluster
}

#[test]
fn a_flow_waits_at_the_port_that_it_takes() {
    // The NIC's first link is slow and leads nowhere.
    let cluster = wide(&[(0, 2, SLOW), (0, 3, LINK), (1, 3, LINK)]);
    let (_, records) = run(&mut cluster.job(&bulk(&[(0, 1)], 20_000_000)));
    assert_eq!(records.flows[0].retransmits, 0, "{:?}", records.flows);
}

#[test]
fn a_nic_holds_as_many_bytes_at_any_rate() {
    for (before, after) in [(SLOW, LINK), (LINK, SLOW)] {
        let mut cluster = wide(&[(0, 2, before), (1, 2, LINK)]);
        let change = Change::Link(NodeId(0), NodeId(2), LinkChange::Rate(after.rate));
        cluster.faults = vec![(Time::from_ms(1), change)];
        let mut sim = cluster.job(&bulk(&[(0, 1)], 20_000_000));
        let nic = sim.network().ports_of(NodeId(0)).next().unwrap();
        sim.sample(Time::from_ms(5), [nic], false);
        let (_, records) = run(&mut sim);
        assert_eq!(records.flows[0].retransmits, 0, "{:?}", records.flows);
        let longest = records.ports[1..].iter().map(|(_, _, sample)| sample.queue_max_bytes).max().unwrap();
        // 32 kB, and the segment that was let in last.
        assert!((30_000..34_000).contains(&longest), "{longest}");
    }
}

/// Fills its NIC with datagrams, and opens three streams behind them. The first is given up while it waits
/// for its turn; the third comes after that.
#[derive(Default)]
struct Fickle(u32, Option<StreamId>);

impl Process for Fickle {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        let to = Addr { host: HostId(1), port: 7 };
        match event {
            Event::Start => (0..200).for_each(|_| cx.send(9, to, Payload::Zeros(1472))),
            Event::Timer { .. } => self.0 += 1,
            _ => return,
        }
        match self.0 {
            0 => self.1 = Some(cx.open(to, 0)),
            2 => cx.abort(self.1.expect("it was opened first")),
            _ => drop(cx.open(to, 0)),
        }
        if self.0 < 3 {
            cx.set_timer(0, Time::from_us(1));
        }
    }
}

/// Notes the ports of whoever calls.
struct Called(Arc<Mutex<Vec<u16>>>);

impl Process for Called {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => cx.listen(7),
            Event::Accepted { from, .. } => self.0.lock().unwrap().push(from.port),
            _ => {}
        }
    }
}

#[test]
fn a_flow_does_not_take_the_turn_of_one_that_is_over() {
    let cluster = Cluster::new(single_switch(2, LINK).unwrap());
    let called = Arc::new(Mutex::new(Vec::new()));
    let mut sim = cluster.processes(vec![
        (HostId(0), Box::new(Fickle::default())),
        (HostId(1), Box::new(Called(called.clone()))),
    ]);
    let (_, mut records) = run(&mut sim);
    records.flows.sort_by_key(|flow| flow.flow);
    let opened: Vec<u16> = records.flows.iter().map(|flow| flow.from.port).collect();
    assert_eq!(records.flows[0].outcome, Outcome::Reset);
    assert_eq!(*called.lock().unwrap(), opened[1..], "in the order in which they began to wait");
}

/// Fills its NIC with datagrams whenever it starts. The first time it waits for a millisecond, and aborts a
/// stream at the end of it.
#[derive(Default)]
struct Aborts(Option<StreamId>);

impl Process for Aborts {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        let to = Addr { host: HostId(1), port: 7 };
        match (event, self.0) {
            (Event::Start, None) => {
                self.0 = Some(cx.open(to, 0));
                return cx.set_timer(0, Time::from_ms(1));
            }
            (Event::Timer { .. }, Some(stream)) => cx.abort(stream),
            (Event::Start, _) => {}
            _ => return,
        }
        (0..200).for_each(|_| cx.send(9, to, Payload::Zeros(1472)));
    }
}

/// Writes to whoever has called, somewhat later, and keeps what it is told.
struct Answers(Log, Option<StreamId>);

impl Process for Answers {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => cx.listen(7),
            Event::Accepted { stream, .. } => {
                self.1 = Some(stream);
                cx.set_timer(0, Time::from_us(1050));
            }
            Event::Timer { .. } => drop(cx.write(self.1.expect("it was called"), Payload::Zeros(100))),
            other => self.0.lock().unwrap().push((cx.now(), other)),
        }
    }
}

#[test]
fn a_reset_has_its_turn_after_a_crash() {
    let mut cluster = Cluster::new(single_switch(2, LINK).unwrap());
    // The stream was aborted, and its reset still waits for its turn.
    cluster.faults = vec![(Time::from_us(1001), Change::Crash(0)), (Time::from_us(1002), Change::Restart(0))];
    let log = Log::default();
    run(&mut cluster.processes(vec![
        (HostId(0), Box::new(Aborts::default())),
        (HostId(1), Box::new(Answers(log.clone(), None))),
    ]));
    let told = log.lock().unwrap();
    assert!(matches!(told[..], [(_, Event::Closed { reason: CloseReason::Reset, .. })]), "{told:?}");
    // 400 datagrams take half a millisecond; the peer would ask again after 40.
    assert!(told[0].0 < Time::from_ms(2), "{told:?}");
}

#[test]
fn tasks_say_what_was_done_what_was_lost_and_what_hangs() {
    let mut cluster = Cluster::new(single_switch(2, LINK).unwrap());
    cluster.faults = vec![(Time::from_ms(5), Change::Crash(1))];
    let busy = |number| {
        let (process, _) = scripted(move |cx| {
            let quick = cx.begin_task("quick", number);
            cx.begin_task("slow", number);
            cx.end_task(quick, 7);
            cx.end_task(quick, 8);
            cx.set_timer(0, Time::from_ms(20));
        });
        process
    };
    let mut sim = cluster.processes(vec![(HostId(0), busy(0)), (HostId(1), busy(1))]);
    let (pause, records) = run(&mut sim);
    assert_eq!(pause, Pause::Idle);
    let told: Vec<_> = records
        .tasks
        .iter()
        .map(|t| (t.task, t.host, t.kind, t.number, t.end.map(|t| t.as_us() / 1000), t.bytes, t.outcome))
        .collect();
    let host1 = 1 << 32;
    assert_eq!(
        told,
        [
            (1, 0, "quick", 0, Some(0), 7, TaskOutcome::Finished),
            (host1 + 1, 1, "quick", 1, Some(0), 7, TaskOutcome::Finished),
            (host1 + 2, 1, "slow", 1, Some(5), 0, TaskOutcome::Lost),
            (2, 0, "slow", 0, None, 0, TaskOutcome::Unfinished),
        ]
    );
}
