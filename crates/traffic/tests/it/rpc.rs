//! Remote procedure calls: every call ends once, and the ones that can't say so.

use crate::support::empty_world;
use process::testing::{Script, World};
use process::{Addr, Context, Event, HostId, Payload};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use traffic::rpc::{Arrivals, Board, CONNECTIONS_MAX, Call, Rpc, SILENCE, build};
use units::Time;

const PORT: u16 = 7000;
const HOUR: Time = Time::from_secs(3600);
const REQUEST: u64 = 300;
const REPLY: u64 = 20_000;

fn fixed(bytes: u64) -> Vec<(u64, f64)> {
    vec![(bytes, 1.0)]
}

fn closed(callers: u32) -> Arrivals {
    Arrivals::Closed { callers, think: Time::from_us(50) }
}

fn job(clients: &[u32], servers: &[u32], arrivals: Arrivals, calls: u64, fan_out: u32) -> Rpc {
    let hosts = |numbers: &[u32]| numbers.iter().map(|host| HostId(*host)).collect();
    let (request, reply) = (fixed(REQUEST), fixed(REPLY));
    let (clients, servers, connections) = (hosts(clients), hosts(servers), CONNECTIONS_MAX);
    let (service, deadline) = (Time::ZERO, None);
    Rpc { clients, servers, arrivals, calls, fan_out, connections, request, reply, service, deadline }
}

/// The world, and the boards of its clients; hosts that are left out refuse.
fn world(job: Rpc, leave_out: &[u32]) -> (World, Vec<Board>) {
    let mut world = empty_world(Time::from_us(10), 5_000);
    let (boards, processes) = build(job, PORT).expect("a good job");
    for (host, process) in processes {
        if !leave_out.contains(&host.0) {
            world.add(host, process);
        }
    }
    (world, boards.into_iter().map(|(_, board)| board).collect())
}

fn ended(boards: &[Board]) -> Vec<Call> {
    boards.iter().flat_map(Board::take_ended).collect()
}

#[test]
fn callers_of_a_closed_loop_wait_for_all_replies() {
    let (mut world, boards) = world(job(&[0, 1], &[2, 3, 4], closed(3), 40, 2), &[]);
    world.run(HOUR);
    assert!(world.finished());
    let calls = ended(&boards);
    assert_eq!(calls.len(), 80);
    assert!(calls.iter().all(|call| !call.failed && call.bytes == 2 * (REQUEST + REPLY)));
    // Never more calls under way than callers, so no more connections to a server either.
    assert!(world.open_max() <= 3 * 3);
    for board in &boards {
        assert!(board.open().is_empty());
    }
}

#[test]
fn connections_are_kept() {
    let (mut world, _) = world(job(&[0], &[1], closed(1), 50, 1), &[]);
    world.run(HOUR);
    assert_eq!((world.finished(), world.rows.len()), (true, 1));
    assert_eq!(world.ends(), 0);
}

#[test]
fn an_open_loop_goes_on_while_a_server_is_silent() {
    let every = Time::from_us(100);
    let (mut world, boards) = world(job(&[0], &[1], Arrivals::Open { every }, 1000, 1), &[]);
    world.silent.insert(HostId(1));
    world.run(Time::from_ms(50));
    let open = boards[0].open().len();
    // A Poisson process: 500 by then, and four standard deviations.
    assert!((410..590).contains(&open), "{open}");
    world.run(HOUR);
    let calls = ended(&boards);
    assert!(world.finished() && calls.len() == 1000 && calls.iter().all(|call| call.failed));
}

#[test]
fn requests_wait_for_a_connection_when_there_are_no_more() {
    let every = Time::from_us(1);
    let few = Rpc { connections: 3, ..job(&[0], &[1], Arrivals::Open { every }, 500, 1) };
    let (mut world, boards) = world(few, &[]);
    world.run(HOUR);
    let calls = ended(&boards);
    assert!(world.finished() && calls.len() == 500 && calls.iter().all(|call| !call.failed));
    assert_eq!(world.rows.len(), 3);
}

#[test]
fn requests_that_wait_for_a_server_that_refuses_fail() {
    let every = Time::from_us(1);
    let few = Rpc { connections: 3, ..job(&[0], &[1], Arrivals::Open { every }, 100, 1) };
    let (mut world, boards) = world(few, &[1]);
    world.run(HOUR);
    assert!(world.finished());
    assert!(ended(&boards).iter().filter(|call| call.failed).count() == 100);
}

#[test]
fn calls_fail_at_a_server_that_refuses_and_the_others_end() {
    let (mut world, boards) = world(job(&[0], &[1, 2], closed(2), 200, 1), &[2]);
    world.run(HOUR);
    let calls = ended(&boards);
    let failed = calls.iter().filter(|call| call.failed).count();
    assert!(world.finished() && calls.len() == 200 && (60..140).contains(&failed), "{failed}");
    assert_eq!(boards[0].failed(), failed as u64);
}

#[test]
fn calls_of_a_client_that_crashes_fail_and_it_goes_on() {
    let (mut world, boards) = world(job(&[0], &[1], closed(4), 300, 1), &[]);
    world.run(Time::from_ms(1));
    let before = boards[0].open().len();
    assert!(before > 0);
    world.crash(0, Time::from_ms(2));
    world.run(HOUR);
    let calls = ended(&boards);
    assert!(world.finished() && calls.len() == 300);
    assert_eq!(calls.iter().filter(|call| call.failed).count(), before);
}

#[test]
fn a_server_that_says_nothing_gets_a_ping_a_minute() {
    let (mut world, boards) = world(job(&[0], &[1], closed(1), 1, 1), &[1]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    world.add(
        HostId(1),
        Box::new(Script(move |event, cx: &mut dyn Context| match event {
            Event::Start => cx.listen(PORT),
            Event::Readable { stream } => {
                told.lock().unwrap().push((cx.now(), cx.read(stream, u64::MAX).len()));
            }
            _ => {}
        })),
    );
    world.run(SILENCE.saturating_mul(5));
    let heard = heard.lock().unwrap();
    let pings: Vec<_> = heard.iter().filter(|(at, _)| *at > Time::from_secs(1)).collect();
    assert_eq!(pings.len(), 4, "{heard:?}");
    let first = heard[0].0;
    for (number, (at, bytes)) in (1..).zip(pings) {
        // A head, as long as that of a request.
        let late = *at - first - SILENCE.saturating_mul(number);
        assert!(late < Time::from_ms(10) && *bytes < 40, "{heard:?}");
    }
    assert_eq!(boards[0].open().len(), 1, "it is waited for");
}

#[test]
fn a_server_that_works_for_long_is_not_given_up() {
    let slow = Rpc { service: Time::from_secs(500), ..job(&[0], &[1], closed(1), 3, 1) };
    let (mut world, boards) = world(slow, &[]);
    world.run(HOUR);
    let calls = ended(&boards);
    assert!(world.finished() && calls.len() == 3);
    assert!(calls.iter().all(|call| !call.failed && call.bytes == REQUEST + REPLY));
}

#[test]
fn a_host_may_be_client_and_server() {
    let (mut world, boards) = world(job(&[0, 1], &[0, 1], closed(2), 30, 1), &[]);
    world.run(HOUR);
    assert!(world.finished() && ended(&boards).len() == 60);
}

/// Writes what it likes to a server.
fn stranger(bytes: Vec<u8>) -> Box<Script<impl FnMut(Event, &mut dyn Context) + Send>> {
    Box::new(Script(move |event, cx: &mut dyn Context| {
        if event == Event::Start {
            let stream = cx.open(Addr { host: HostId(1), port: PORT }, 0);
            cx.write(stream, Payload::from(bytes.clone()));
        }
    }))
}

#[test]
fn jobs_that_cannot_run_are_refused() {
    let good = job(&[0], &[1, 2], closed(1), 1, 2);
    let refused = |change: fn(&mut Rpc)| {
        let mut job = good.clone();
        change(&mut job);
        build(job, PORT).err().map(|problem| problem.path.to_string()).expect("refused")
    };
    assert_eq!(refused(|job| job.clients.clear()), "clients");
    assert_eq!(refused(|job| job.servers = vec![HostId(1), HostId(1)]), "servers");
    assert_eq!(refused(|job| job.calls = 0), "calls");
    assert_eq!(refused(|job| job.fan_out = 3), "fan_out");
    assert_eq!(refused(|job| job.connections = 0), "connections");
    // A host does not call itself.
    assert_eq!(refused(|job| job.clients = vec![HostId(1)]), "fan_out");
    assert_eq!(refused(|job| job.arrivals = closed(0)), "arrivals.callers");
    assert_eq!(refused(|job| job.arrivals = Arrivals::Open { every: Time::ZERO }), "arrivals.every");
    assert_eq!(refused(|job| job.request = vec![(5, 0.5)]), "request");
}

proptest! {
    #[test]
    fn every_call_ends_once_whatever_strangers_write(
        callers in 1u32..5, calls in 1u64..60, fan_out in 1u32..4, connections in 1u32..4, service in 0u64..200,
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let job = job(&[0], &[1, 2, 3], closed(callers), calls, fan_out);
        let (mut world, boards) = world(Rpc { connections, service: Time::from_us(service), ..job }, &[]);
        world.add(HostId(9), stranger(bytes));
        world.run(HOUR);
        let mut numbers: Vec<u64> = ended(&boards).iter().map(|call| call.number).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..calls).collect::<Vec<_>>());
    }
}
