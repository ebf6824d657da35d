//! Segments that no honest peer would send: nothing panics, nothing grows without bound, and what is
//! reported stays within what was sent.

use crate::support::{App, Bench};
use proptest::prelude::*;
use transport::tcp::{Config, Congestion, Connection, EcnMode, Flags, Header, Notes, SackBlock};
use units::Time;
use units::testing::cases;

#[derive(Clone, Debug)]
enum Step {
    Segment { header: Header, sacks: Vec<SackBlock>, ce: bool },
    Timer(u64),
    Write(u64),
    Read(u64),
    Poll,
    Close,
}

/// Numbers near those that the connection uses, or any.
fn number(isn: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => (-3_000i32..60_000).prop_map(move |d| isn.wrapping_add_signed(d)),
        1 => any::<u32>(),
    ]
}

prop_compose! {
    fn header()(
        seq in number(500),
        ack in number(1000),
        window in prop_oneof![0u32..100_000, any::<u32>()],
        ts_val in any::<u32>(),
        ts_ecr in any::<u32>(),
        len in prop_oneof![Just(0u16), 1u16..3000, any::<u16>()],
        flags in prop_oneof![6 => Just(0x10u8), 2 => any::<u8>(), 1 => Just(0x11u8)],
    ) -> Header {
        Header { seq, ack, window, ts_val, ts_ecr, len, flags: Flags::from_bits(flags), notes: Notes::NONE }
    }
}

fn block() -> impl Strategy<Value = SackBlock> {
    (number(1000), number(1000)).prop_map(|(start, end)| SackBlock { start, end })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (header(), prop::collection::vec(block(), 0..6), any::<bool>())
            .prop_map(|(header, sacks, ce)| Step::Segment { header, sacks, ce }),
        2 => (0u64..2_000_000).prop_map(Step::Timer),
        2 => (0u64..100_000).prop_map(Step::Write),
        1 => (0u64..100_000).prop_map(Step::Read),
        6 => Just(Step::Poll),
        1 => Just(Step::Close),
    ]
}

fn poll(connection: &mut Connection, now: Time) {
    for _ in 0..10_000 {
        let Some(transmit) = connection.poll_transmit(now) else { break };
        assert!(transmit.header.bytes() <= 40 + 12 + 36 + 1000);
        assert_eq!(connection.sack_blocks().len(), usize::from(transmit.header.notes.sack_count()));
    }
    assert!(connection.poll_transmit(now).is_none(), "it sends without end");
    while connection.poll_event().is_some() {}
    connection.poll_timer();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]

    #[test]
    fn arbitrary_segments_do_no_harm(
        switches in any::<[bool; 7]>(),
        congestion in prop_oneof![Just(Congestion::Reno), Just(Congestion::Cubic), Just(Congestion::Dctcp)],
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let [sack, rack, tail_loss_probe, limited_transmit, timestamps, hystart, drained] = switches;
        let config = Config {
            congestion, sack, rack, tail_loss_probe, limited_transmit, timestamps, hystart, mss: 1000,
            ecn: EcnMode::On, receive_buffer: 50_000, receive_buffer_max: 200_000, ..Config::default()
        };
        let mut connection = Connection::client(&config.into(), 999);
        if drained {
            connection.drain();
        }
        let mut now = Time::ZERO;
        poll(&mut connection, now);
        let syn_ack = Header {
            seq: 499, ack: 1000, window: 60_000,
            flags: Flags::SYN | Flags::ACK | Flags::ECE | Flags::SACK_PERMITTED | Flags::TIMESTAMPS,
            ..Header::default()
        };
        connection.handle_segment(now, &syn_ack, &[], false);
        let mut written = connection.write(30_000);
        for step in steps {
            match step {
                Step::Segment { header, sacks, ce } => connection.handle_segment(now, &header, &sacks, ce),
                Step::Timer(us) => {
                    now += Time::from_us(us);
                    connection.handle_timer(now);
                }
                Step::Write(bytes) => written += connection.write(bytes),
                Step::Read(bytes) => drop(connection.read(now, bytes)),
                Step::Poll => poll(&mut connection, now),
                Step::Close => connection.close(),
            }
            let stats = connection.stats();
            prop_assert!(connection.acked() <= written);
            prop_assert!(connection.readable() <= 1 << 20);
            prop_assert!(stats.in_flight <= 3 * (written + 1), "{stats:?}");
            prop_assert!(stats.cwnd >= 1000);
        }
    }

    #[test]
    fn a_listener_survives_anything(headers in prop::collection::vec(header(), 1..50)) {
        let mut connection = Connection::server(&Config::default().into(), 999);
        for (i, header) in headers.iter().enumerate() {
            let now = Time::from_ms(i as u64);
            connection.handle_segment(now, header, &[], false);
            poll(&mut connection, now);
            connection.handle_timer(now);
        }
    }
}

#[test]
fn a_reset_outside_of_the_window_is_ignored_and_one_inside_is_challenged() {
    let config = Config::default();
    let mut bench =
        Bench::new(&config, &config, [App { closes: false, ..App::sending(1000) }, App::sending(0)]);
    bench.run(Time::from_ms(1));
    let end = &mut bench.ends[1];
    let now = Time::from_ms(2);
    let next = 0xffff_f000u32.wrapping_add(1001);
    let reset = |seq: u32| Header { seq, flags: Flags::RST, ..Header::default() };
    end.handle_segment(now, &reset(next.wrapping_sub(5)), &[], false);
    assert!(!end.is_closed() && end.poll_transmit(now).is_none());
    end.handle_segment(now, &reset(next.wrapping_add(5)), &[], false);
    assert!(!end.is_closed());
    let challenge = end.poll_transmit(now).expect("RFC 5961 3.2: a challenge");
    assert_eq!(challenge.header.ack, next);
    end.handle_segment(now, &reset(next), &[], false);
    assert!(end.is_closed());
}

#[test]
fn a_connection_is_small() {
    let size = std::mem::size_of::<Connection>();
    assert!(size <= 1024, "{size}");
}
