//! What goes wrong: hosts that refuse, hang, vanish or come back, and peers that don't keep to the protocol.

use crate::support::{empty_world, hosts, rng};
use process::testing::{Script, World};
use process::{Addr, CloseReason, Context, Event, HostId, Payload};
use traffic::sizes::WEB_SEARCH;
use traffic::{AllToAll, Bulk, Flow, Flows, HostInfo, Incast, Job, Load, Order, Permutation, Replay, build};
use units::{Bytes, Rate, Time};

const PORT: u16 = 7000;
const HOUR: Time = Time::from_secs(3600);

fn world(job: &Job, n: usize, leave_out: &[u32]) -> World {
    let mut world = empty_world(Time::from_us(10), 10_000);
    for (host, process) in build(job, &hosts(n), &mut rng(1), PORT).expect("a good job") {
        if !leave_out.contains(&host.0) {
            world.add(host, process);
        }
    }
    world
}

fn closed(world: &World) -> Vec<Option<CloseReason>> {
    world.rows.iter().map(|row| row.closed).collect()
}

fn two_to_two() -> Job {
    let pair = |from, to| (HostId(from), HostId(to));
    Job::Bulk(Bulk { pairs: vec![pair(0, 2), pair(1, 2), pair(0, 3), pair(1, 3)], bytes: 100_000 })
}

fn incast(rounds: u32) -> Job {
    Job::Incast(Incast { senders: vec![HostId(1), HostId(2)], receiver: HostId(0), bytes: 100_000, rounds })
}

#[test]
fn a_job_ends_when_a_receiver_refuses() {
    let mut world = world(&two_to_two(), 4, &[3]);
    world.run(HOUR);
    assert!(world.finished());
    use CloseReason::{Finished, Refused};
    assert_eq!(closed(&world), [Some(Finished), Some(Refused), Some(Finished), Some(Refused)]);
}

#[test]
fn a_job_ends_when_a_receiver_never_answers() {
    let mut world = world(&two_to_two(), 4, &[]);
    world.silent.insert(HostId(3));
    world.run(HOUR);
    assert!(world.finished());
    let lost = world.rows.iter().filter(|row| row.to == HostId(3));
    assert!(lost.clone().all(|row| row.closed == Some(CloseReason::TimedOut)) && lost.count() == 2);
}

#[test]
fn a_job_ends_when_a_receiver_aborts_everything() {
    let mut world = world(&two_to_two(), 4, &[3]);
    let hostile = |event, cx: &mut dyn Context| match event {
        Event::Start => cx.listen(PORT),
        Event::Accepted { stream, .. } => {
            cx.finish();
            cx.abort(stream);
        }
        _ => {}
    };
    world.add(HostId(3), Box::new(Script(hostile)));
    world.run(HOUR);
    assert!(world.finished());
    assert_eq!(world.ends(), 0);
}

#[test]
fn a_sender_gives_up_on_a_lost_peer_only() {
    let mut world = world(&two_to_two(), 4, &[]);
    world.silent.insert(HostId(3));
    world.tell(Time::from_ms(1), 0, Event::PeerLost { host: HostId(3) });
    world.tell(Time::from_ms(1), 1, Event::PeerLost { host: HostId(3) });
    world.run(Time::from_ms(2));
    assert!(world.finished());
    let whole = world.rows.iter().filter(|row| row.forth == 100_000);
    assert!(whole.clone().all(|row| row.to == HostId(2)) && whole.count() == 2);
}

#[test]
fn a_restarted_sender_loses_open_flows_and_goes_on_with_the_rest() {
    let flow =
        |ms, bytes| traffic::Flow { at: Time::from_ms(ms), from: HostId(0), to: HostId(1), bytes, group: ms };
    let job =
        Job::Replay(Replay { flows: [flow(0, 1 << 30), flow(5, 10), flow(20, 20)].into_iter().collect() });
    let mut world = world(&job, 2, &[]);
    world.run(Time::from_ms(1));
    world.crash(0, Time::from_ms(10));
    world.run(HOUR);
    assert!(world.finished());
    let opened: Vec<_> = world.rows.iter().map(|row| (row.group, row.opened, row.closed)).collect();
    let finished = Some(CloseReason::Finished);
    let late = (5, Time::from_ms(10), finished);
    assert_eq!(opened, [(0, Time::ZERO, None), late, (20, Time::from_ms(20), finished)]);
}

#[test]
fn a_sender_drains_a_receiver_that_talks_back() {
    let mut world = world(&Job::Bulk(Bulk { pairs: vec![(HostId(0), HostId(1))], bytes: 1_000 }), 2, &[1]);
    let chatty = |event, cx: &mut dyn Context| match event {
        Event::Start => {
            cx.listen(PORT);
            cx.finish();
        }
        Event::Accepted { stream, .. } => {
            assert_eq!(cx.write(stream, Payload::Zeros(9_000)), 9_000);
            cx.close(stream);
        }
        Event::Readable { stream } => {
            cx.read(stream, u64::MAX);
        }
        _ => {}
    };
    world.add(HostId(1), Box::new(Script(chatty)));
    world.run(HOUR);
    assert!(world.finished());
    assert_eq!((world.rows[0].forth, world.rows[0].back), (1_000, 9_000));
}

#[test]
fn incast_goes_on_without_a_worker_that_is_gone() {
    let mut world = world(&incast(4), 3, &[]);
    world.silent.insert(HostId(2));
    // Processes are numbered by host: 0 is the aggregator.
    world.tell(Time::from_secs(1), 0, Event::PeerLost { host: HostId(2) });
    world.run(Time::from_secs(2));
    assert!(world.finished());
    let asked = |host| world.rows.iter().filter(|row| row.to == HostId(host)).count();
    assert_eq!((asked(1), asked(2)), (4, 1));
}

#[test]
fn incast_ends_when_all_workers_refuse() {
    let mut world = world(&incast(4), 3, &[1, 2]);
    world.run(HOUR);
    assert!(world.finished());
    assert_eq!(world.rows.len(), 8);
}

/// What became of a stream that `host` opened to a worker and wrote `bytes` to.
fn ask_worker(host: u32, bytes: u64) -> (Option<CloseReason>, u64) {
    let mut world = world(&incast(1), 4, &[0, 2]);
    let ask = move |event, cx: &mut dyn Context| match event {
        Event::Start => {
            cx.finish();
            let stream = cx.open(Addr { host: HostId(1), port: PORT }, 0);
            cx.write(stream, Payload::Zeros(bytes));
            cx.close(stream);
        }
        Event::Readable { stream } => while !cx.read(stream, 1_000).is_empty() {},
        _ => {}
    };
    world.add(HostId(host), Box::new(Script(ask)));
    world.run(HOUR);
    (world.rows[0].closed, world.rows[0].back)
}

#[test]
fn a_worker_answers_its_aggregator_only_and_takes_in_nothing() {
    assert_eq!(ask_worker(0, 0), (Some(CloseReason::Finished), 100_000));
    assert_eq!(ask_worker(3, 0), (Some(CloseReason::Reset), 0));
    assert_eq!(ask_worker(0, 9_999), (Some(CloseReason::Finished), 100_000));
}

#[test]
fn a_restarted_aggregator_goes_on_with_the_next_round() {
    let mut world = world(&incast(2), 3, &[]);
    world.run(Time::from_us(25));
    world.crash(0, Time::from_ms(1));
    world.run(HOUR);
    assert!(world.finished());
    assert_eq!(world.rows.iter().filter(|row| row.back == 100_000).count(), 2);
}

#[test]
fn bad_jobs_are_refused_with_what_is_allowed() {
    let refusal = |job: &Job| build(job, &hosts(4), &mut rng(1), PORT).err().expect("refused");
    let field = |job: Job| refusal(&job).path.to_string();
    let members = |list: &[u32]| list.iter().map(|host| HostId(*host)).collect::<Vec<_>>();
    let load = |load, seconds, sizes: &[(u64, f64)]| {
        let (hosts, duration) = (members(&[0, 1]), Time::from_secs(seconds));
        Job::Load(Load { hosts, sizes: sizes.to_vec(), load, duration })
    };
    let permutation = |list: &[u32]| Job::Permutation(Permutation { hosts: members(list), bytes: 1 });
    assert_eq!(field(Job::Replay(Replay { flows: Flows::from_iter([]) })), "flows");
    assert_eq!(refusal(&permutation(&[2])).to_string(), "hosts: 1 host takes part: at least 2 are needed");
    assert_eq!(refusal(&permutation(&[1, 2, 1])).to_string(), "hosts: host number 1 is listed twice");
    let bulk = Job::Bulk(Bulk { pairs: vec![(HostId(0), HostId(9))], bytes: 1 });
    assert_eq!(refusal(&bulk).message, "host number 9 does not exist: the topology has 4 hosts");
    assert_eq!(field(load(-0.5, 1, WEB_SEARCH)), "load");
    assert_eq!(field(load(f64::NAN, 1, WEB_SEARCH)), "load");
    assert_eq!(field(load(0.5, 1, &[(1, 0.5)])), "sizes");
    assert!(refusal(&load(1e6, 1_000_000, WEB_SEARCH)).message.contains("at most 50000000 are allowed"));
    let incast = Incast { senders: members(&[0, 1]), receiver: HostId(1), bytes: 1, rounds: 1 };
    assert_eq!(field(Job::Incast(incast)), "receiver");
    let all_to_all =
        AllToAll { hosts: members(&[0, 1]), bytes: 1, parallel: 0, order: Order::Same, skew: Time::ZERO };
    assert_eq!(field(Job::AllToAll(all_to_all)), "parallel");
}

#[test]
fn what_no_run_can_see_the_end_of_is_refused() {
    let slow = [HostInfo { rate: Rate::from_bps(1_000_000), mtu: Bytes::new(1500) }; 3];
    let refused = |job: Job| {
        let refusal = build(&job, &slow, &mut rng(1), PORT).err();
        refusal.is_some_and(|problem| problem.message.contains("take longer than the longest run"))
    };
    let host = |number| HostId(number);
    // The longest run lets 1.153 TB through at 1 Mb/s.
    let most = 1_152_000_000_000;
    let incast = |bytes, rounds| {
        Job::Incast(Incast { senders: vec![host(1), host(2)], receiver: host(0), bytes, rounds })
    };
    assert!(!refused(incast(1_000_000_000, 576)));
    assert!(refused(incast(1_000_000_000, 577)), "two senders, one receiver");
    assert!(refused(incast(1_000_000_000, 100_000)));
    let bulk = |pairs: Vec<_>| Job::Bulk(Bulk { pairs, bytes: most / 2 });
    assert!(!refused(bulk(vec![(host(0), host(1)), (host(2), host(1))])));
    assert!(refused(bulk(vec![(host(0), host(1)), (host(2), host(1)), (host(0), host(1))])));
    let flow = |bytes| Flow { at: Time::ZERO, from: host(0), to: host(1), bytes, group: 0 };
    assert!(!refused(Job::Replay(Replay { flows: [flow(most)].into_iter().collect() })));
    assert!(refused(Job::Replay(Replay { flows: [flow(most), flow(most)].into_iter().collect() })));
}
