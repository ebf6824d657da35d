//! Background traffic keeps its rate, its spacing and its end.

use crate::support::{empty_world, hosts, rng};
use process::testing::{Sent, World};
use process::{Addr, CloseReason, HostId};
use traffic::{Background, Carrier, Job, Model, build};
use units::{Rate, Time};

const PORT: u16 = 9000;

fn job(over: Carrier, mbps: u64, duration: Option<Time>) -> Job {
    let pairs = vec![(HostId(0), HostId(1)), (HostId(0), HostId(2)), (HostId(2), HostId(0))];
    let (rate, model) = (Rate::from_bps(mbps * 1_000_000), Model::Packets);
    Job::Background(Background { pairs, rate, over, model, duration })
}

fn world(job: &Job, buffer: u64) -> World {
    let mut world = empty_world(Time::from_us(10), buffer);
    world.add_all(build(job, &hosts(3), &mut rng(5), PORT).expect("a good job"));
    world
}

#[test]
fn datagrams_fill_the_rate_evenly_from_a_random_phase() {
    let mut world = world(&job(Carrier::Udp, 120, None), 1);
    world.run(Time::from_ms(100));
    assert!(world.finished(), "background does not hold up the end");
    let mut phases = Vec::new();
    for (from, to) in [(0, 1), (0, 2), (2, 0)] {
        let to = Addr { host: HostId(to), port: PORT };
        let times: Vec<Time> = world
            .sent
            .iter()
            .filter(|sent| sent.from.host == HostId(from) && sent.to == to)
            .map(|sent| sent.at)
            .collect();
        // 1500 bytes at 120 Mb/s are 100 us.
        assert_eq!(times.len(), 1_000);
        assert!(times[0] < Time::from_us(100));
        assert!(times.windows(2).all(|pair| pair[1] == pair[0] + Time::from_us(100)));
        phases.push(times[0]);
    }
    assert!(phases[0] != phases[1] && phases[1] != phases[2]);
    let arrived = |sent: &Sent| sent.arrived || sent.at + Time::from_us(10) > world.now;
    assert!(world.sent.iter().all(|sent| sent.data.len() == 1_472 && arrived(sent)));
}

#[test]
fn datagrams_end_with_their_duration() {
    let mut world = world(&job(Carrier::Udp, 120, Some(Time::from_ms(10))), 1);
    world.run(Time::from_secs(1));
    assert_eq!(world.sent.len(), 300);
    assert!(world.sent.iter().all(|sent| sent.at < Time::from_ms(10)));
}

#[test]
fn a_restarted_host_does_not_make_up_for_what_it_missed() {
    let mut world = world(&job(Carrier::Udp, 120, None), 1);
    world.run(Time::from_ms(10));
    world.crash(2, Time::from_ms(60));
    world.run(Time::from_ms(100));
    assert_eq!(world.sent.iter().filter(|sent| sent.from.host == HostId(2)).count(), 500);
}

#[test]
fn streams_keep_the_rate_and_never_finish_early() {
    let mut world = world(&job(Carrier::Tcp, 120, Some(Time::from_secs(1))), 1 << 20);
    world.run(Time::from_ms(990));
    assert!(world.finished(), "background does not hold up the end");
    assert!(world.rows.len() == 3 && world.rows.iter().all(|row| row.closed.is_none()));
    world.run(Time::from_secs(2));
    for row in &world.rows {
        assert_eq!(row.closed, Some(CloseReason::Finished));
        // A second at 120 Mb/s, of which 1460 in 1500 bytes are data, less a tick at either end.
        let whole = 15_000_000 * 1_460 / 1_500;
        assert!((whole - 2 * 14_600..=whole).contains(&row.forth), "{}", row.forth);
    }
    assert_eq!(world.ends(), 0);
}

#[test]
fn a_slow_stream_is_written_to_a_packet_at_a_time() {
    let mut world = world(&job(Carrier::Tcp, 1, Some(Time::from_secs(1))), 1 << 20);
    world.run(Time::from_secs(2));
    // 1500 bytes at 1 Mb/s are 12 ms: 83 in a second.
    assert!(world.rows.iter().all(|row| row.forth <= 83 * 1_460 && row.forth >= 81 * 1_460));
}

#[test]
fn a_full_stream_does_not_catch_up() {
    let mut world = world(&job(Carrier::Tcp, 120, Some(Time::from_secs(1))), 1_000);
    world.run(Time::from_secs(2));
    // A tick of 1 ms asks for 14,600 bytes; the buffer takes 1,000 of them.
    assert!(world.rows.iter().all(|row| row.forth <= 1_000 * 1_000));
}

#[test]
fn a_stream_that_breaks_is_opened_again() {
    let mut world = world(&job(Carrier::Tcp, 120, None), 1 << 20);
    world.run(Time::from_ms(100));
    world.crash(1, Time::from_ms(200));
    world.run(Time::from_secs(2));
    let opened: Vec<Time> =
        world.rows.iter().filter(|row| row.to == HostId(1)).map(|row| row.opened).collect();
    assert_eq!(opened.len(), 2);
    assert_eq!(opened[1], Time::from_ms(1_200));
}
