//! What the RFCs ask of a connection, seen from outside.

use crate::support::{App, Bench, Packet, Path, Verdict};
use transport::tcp::{CloseReason, Config, Congestion, Connection, EcnMode, Event, Flags, Header};
use units::{Rate, Time};

fn config() -> Config {
    Config {
        congestion: Congestion::Reno,
        mss: 1000,
        rack: false,
        tail_loss_probe: false,
        ..Config::default()
    }
}

fn draining() -> App {
    App { read_every: Time::MAX, ..App::sending(0) }
}

fn slow() -> Path {
    Path { delay: Time::from_ms(5), rate: Rate::from_gbps(1), ..Path::default() }
}

/// A rule that drops the data packets of the client with these numbers, each once.
fn dropping(mut numbers: Vec<u64>) -> impl FnMut(&Packet) -> Verdict {
    let mut count = 0;
    move |packet| {
        if packet.from != 0 || !packet.is_data() || packet.transmit.is_retransmission() {
            return Verdict::Pass;
        }
        count += 1;
        let dropped = numbers.contains(&count);
        numbers.retain(|&number| number != count);
        if dropped { Verdict::Drop } else { Verdict::Pass }
    }
}

/// A connection that is open and has received nothing; its peer's numbers start at 1.
fn opened(config: &Config) -> Connection {
    let mut end = Connection::server(&config.clone().into(), 0);
    let syn = Flags::SYN | Flags::SACK_PERMITTED | Flags::ECE | Flags::CWR;
    end.handle_segment(Time::ZERO, &Header { window: 60_000, flags: syn, ..Header::default() }, &[], false);
    assert!(end.poll_transmit(Time::ZERO).is_some());
    let ack = Header { seq: 1, ack: 1, window: 60_000, flags: Flags::ACK, ..Header::default() };
    end.handle_segment(Time::ZERO, &ack, &[], false);
    assert_eq!(end.poll_event(), Some(Event::Opened));
    end
}

fn receiver(config: &Config) -> Connection {
    let mut end = opened(config);
    end.drain();
    end
}

fn segment(number: u32) -> Header {
    Header {
        seq: 1 + 1000 * number,
        ack: 1,
        window: 60_000,
        len: 1000,
        flags: Flags::ACK,
        ..Header::default()
    }
}

/// Hands segment `number` over; returns the acknowledgement that comes at once, as a count of segments.
fn take(end: &mut Connection, number: u32, ce: bool) -> Option<u32> {
    end.handle_segment(Time::from_ms(1), &segment(number), &[], ce);
    end.poll_ack(Time::from_ms(1)).map(|t| (t.header.ack - 1) / 1000)
}

#[test]
fn rfc5681_4_2_every_second_segment_is_acknowledged_at_once_and_a_single_one_later() {
    let mut end = receiver(&config());
    assert_eq!(take(&mut end, 0, false), None);
    assert_eq!(end.poll_timer(), Time::from_ms(41));
    assert_eq!(take(&mut end, 1, false), Some(2));
    assert_eq!(end.poll_timer(), Time::MAX);
    assert_eq!(take(&mut end, 2, false), None);
    end.handle_timer(Time::from_ms(40));
    assert!(end.poll_ack(Time::from_ms(40)).is_none(), "too early");
    end.handle_timer(Time::from_ms(41));
    assert_eq!(end.poll_ack(Time::from_ms(41)).map(|t| t.header.ack), Some(3001));
}

#[test]
fn rfc5681_4_2_out_of_order_and_gap_filling_segments_are_acknowledged_at_once() {
    let mut end = receiver(&config());
    assert_eq!(take(&mut end, 1, false), Some(0));
    assert_eq!(take(&mut end, 3, false), Some(0));
    assert_eq!(take(&mut end, 0, false), Some(2), "a part of the gap is filled");
    assert_eq!(take(&mut end, 2, false), Some(4));
    assert_eq!(take(&mut end, 4, false), None, "in order again");
}

#[test]
fn rfc2018_4_the_most_recent_block_comes_first_and_rfc2883_a_repeat_before_all() {
    let mut end = receiver(&config());
    let mut blocks = |number: u32| {
        take(&mut end, number, false).expect("at once");
        end.sack_blocks().iter().map(|b| ((b.start - 1) / 1000, (b.end - 1) / 1000)).collect::<Vec<_>>()
    };
    assert_eq!(blocks(2), [(2, 3)]);
    assert_eq!(blocks(4), [(4, 5), (2, 3)]);
    assert_eq!(blocks(8), [(8, 9), (4, 5), (2, 3)]);
    assert_eq!(blocks(3), [(2, 5), (8, 9)], "merged");
    assert_eq!(blocks(9), [(8, 10), (2, 5)]);
    assert_eq!(blocks(9), [(9, 10), (8, 10), (2, 5)], "a repeat");
    assert_eq!(blocks(12), [(12, 13), (8, 10), (2, 5)]);
    assert_eq!(blocks(14), [(14, 15), (12, 13), (8, 10), (2, 5)], "four without timestamps");
}

#[test]
fn rfc8257_3_2_a_change_of_marks_acknowledges_what_came_before_with_the_old_state() {
    let dctcp = Config { congestion: Congestion::Dctcp, ..config() };
    let mut end = receiver(&dctcp);
    assert_eq!(take(&mut end, 0, false), None);
    end.handle_segment(Time::from_ms(1), &segment(1), &[], true);
    let first = end.poll_ack(Time::from_ms(1)).expect("for segment 0").header;
    assert_eq!((first.ack, first.flags.contains(Flags::ECE)), (1001, false));
    let second = end.poll_ack(Time::from_ms(1)).expect("at once").header;
    assert_eq!((second.ack, second.flags.contains(Flags::ECE)), (2001, true));
    assert_eq!(take(&mut end, 2, true), None, "delayed while the state stays");
}

#[test]
fn rfc3168_ece_lasts_until_cwr_and_the_window_is_halved_once() {
    let ecn = Config { ecn: EcnMode::On, ..config() };
    let mut marked = 0;
    let mut bench =
        Bench::new(&ecn, &ecn, [App::sending(500_000), draining()]).path(slow()).rule(move |packet| {
            marked += u32::from(packet.from == 0 && packet.is_data());
            if (15..20).contains(&marked) { Verdict::Mark } else { Verdict::Pass }
        });
    assert!(bench.run(Time::from_secs(10)));
    let (sender, receiver) = (bench.ends[0].stats(), bench.ends[1].stats());
    assert_eq!(receiver.ce_received, 5);
    assert!(sender.ece_acks > 1 && sender.retransmits == 0);
    let cwr = bench.data().filter(|p| p.transmit.header.flags.contains(Flags::CWR)).count();
    assert_eq!(cwr, 1);
    assert!(sender.ssthresh < 20_000, "{sender:?}");
    assert!(bench.data().all(|p| p.transmit.ect));
    assert!(bench.acks().all(|p| !p.transmit.ect), "RFC 3168 6.1.4");
}

#[test]
fn rfc7323_4_1_the_echo_of_a_repeated_syn_is_a_sample() {
    for (timestamps, waits) in [(true, Time::from_ms(211)), (false, Time::from_ms(3_010))] {
        let stamped = Config { timestamps, ..config() };
        let (mut syns, mut data) = (0, 0);
        let mut bench =
            Bench::new(&stamped, &stamped, [App::sending(1_000), draining()]).path(slow()).rule(move |p| {
                if p.from != 0 {
                    return Verdict::Pass;
                }
                let is_syn = p.transmit.header.flags.contains(Flags::SYN);
                let count = if is_syn { &mut syns } else { &mut data };
                *count += u32::from(is_syn || p.is_data());
                // The first SYN is lost, and the first segment with data.
                if *count == 1 && (is_syn || p.is_data()) { Verdict::Drop } else { Verdict::Pass }
            });
        assert!(bench.run(Time::from_secs(20)));
        let sent: Vec<Time> = bench.data().map(|p| p.at).collect();
        let waited = sent[1] - sent[0];
        assert!(waited.max(waits) - waited.min(waits) < Time::from_ms(15), "{timestamps}: {waited}");
    }
}

#[test]
fn rfc6928_the_first_flight_is_the_initial_window() {
    let mut bench = Bench::new(&config(), &config(), [App::sending(100_000), draining()]).path(slow());
    assert!(bench.run(Time::from_secs(10)));
    let first = bench.data().next().expect("data").at;
    assert_eq!(bench.data().filter(|p| p.at == first).count(), 10);
}

/// How many segments the first flight has when so many SYNs, or SYN-ACKs, were lost.
fn first_flight_after(lost: u64, from: usize) -> usize {
    let mut bench = Bench::new(&config(), &config(), [App::sending(100_000), draining()])
        .path(slow())
        .rule(move |p| if p.from == from && p.number < lost { Verdict::Drop } else { Verdict::Pass });
    assert!(bench.run(Time::from_secs(60)));
    let first = bench.data().next().expect("data").at;
    bench.data().filter(|p| p.at == first).count()
}

#[test]
fn rfc6928_2_one_lost_syn_leaves_the_initial_window_and_rfc5681_3_1_two_mean_one_segment() {
    assert_eq!(first_flight_after(1, 0), 10);
    assert_eq!(first_flight_after(2, 0), 1);
}

#[test]
fn rfc9293_3_8_6_2_1_what_a_window_leaves_over_is_not_a_segment_of_its_own() {
    // The window of a SYN-ACK is at most 65,535 bytes (RFC 7323 2.2): seven segments of jumbo frames.
    let jumbo = Config { mss: 8960, ..config() };
    let mut bench = Bench::new(&jumbo, &jumbo, [App::sending(256_000), draining()]).path(slow());
    assert!(bench.run(Time::from_secs(10)));
    let first = bench.data().next().expect("data").at;
    let lens: Vec<u16> = bench.data().filter(|p| p.at == first).map(|p| p.transmit.header.len).collect();
    assert_eq!(lens, [8960; 7]);
    let short = bench.data().filter(|p| p.transmit.header.len < 8960).count();
    assert_eq!(short, 1, "only the last");
}

#[test]
fn rfc9293_3_8_6_2_1_half_of_a_small_window_is_worth_a_segment() {
    // The window is below two segments: its rest is more than half of the largest offered.
    let small = Config { receive_buffer: 800, receive_buffer_max: 800, ..config() };
    let reader = App { read_every: Time::from_ms(1), read_chunk: 800, ..App::sending(0) };
    let mut bench = Bench::new(&config(), &small, [App::sending(20_000), reader]).path(slow());
    assert!(bench.run(Time::from_secs(60)));
    assert!(bench.data().all(|p| 2 * p.transmit.header.len >= 800));
}

#[test]
fn rfc5681_3_2_and_rfc6582_three_duplicates_repair_and_partial_acknowledgements_go_on() {
    let newreno = Config { sack: false, ..config() };
    for drops in [vec![12], vec![12, 14, 17]] {
        let losses = drops.len() as u64;
        let mut bench = Bench::new(&newreno, &newreno, [App::sending(400_000), draining()])
            .path(slow())
            .rule(dropping(drops));
        assert!(bench.run(Time::from_secs(10)));
        let stats = bench.ends[0].stats();
        assert_eq!((stats.retransmits, stats.timeouts, stats.fast_recoveries), (losses, 0, 1), "{stats:?}");
    }
}

#[test]
fn rfc6582_3_2_only_the_first_partial_acknowledgement_restarts_the_retransmission_timer() {
    // Each of 30 losses takes a round trip of 10 ms: more than the timeout of 200 ms in all.
    let newreno = Config { sack: false, ..config() };
    let mut bench = Bench::new(&newreno, &newreno, [App::sending(400_000), draining()])
        .path(slow())
        .rule(dropping((40..70).collect()));
    assert!(bench.run(Time::from_secs(10)));
    let stats = bench.ends[0].stats();
    assert_eq!((stats.timeouts, stats.fast_recoveries), (1, 1), "{stats:?}");
    let again: Vec<u64> =
        bench.data().filter(|p| p.transmit.is_retransmission()).map(|p| p.at.as_us() / 1000).collect();
    let first_partial = again[1];
    let in_recovery = again.iter().take_while(|&&at| at < first_partial + 200).count();
    assert!(in_recovery < 25, "the timeout comes 200 ms after the first partial one: {again:?}");
    // With SACK the timer restarts at each, and nothing of it is slow.
    let mut bench = Bench::new(&config(), &config(), [App::sending(400_000), draining()])
        .path(slow())
        .rule(dropping((40..70).collect()));
    assert!(bench.run(Time::from_secs(10)));
    assert_eq!(bench.ends[0].stats().timeouts, 0);
}

#[test]
fn rfc6675_and_rfc8985_many_losses_are_repaired_in_one_recovery_each_sent_once() {
    for rack in [false, true] {
        for timestamps in [false, true] {
            let sack = Config { rack, tail_loss_probe: rack, timestamps, ..config() };
            let drops = vec![12, 13, 14, 19, 22, 25, 26];
            let mut bench = Bench::new(&sack, &sack, [App::sending(400_000), draining()])
                .path(slow())
                .rule(dropping(drops));
            assert!(bench.run(Time::from_secs(10)));
            let stats = bench.ends[0].stats();
            assert_eq!(
                (stats.retransmits, stats.timeouts, stats.fast_recoveries),
                (7, 0, 1),
                "rack {rack} {stats:?}"
            );
            assert_eq!(stats.retransmitted_bytes, 7 * 1000, "{stats:?}");
        }
    }
}

#[test]
fn rfc6675_a_lost_retransmission_needs_a_timeout_and_rack_finds_it() {
    for (rack, timeouts) in [(false, 1), (true, 0)] {
        let sack = Config { rack, ..config() };
        let mut data = 0;
        let mut again = 0;
        let mut bench =
            Bench::new(&sack, &sack, [App::sending(400_000), draining()]).path(slow()).rule(move |p| {
                data += u32::from(p.from == 0 && p.is_data());
                again += u32::from(p.transmit.is_retransmission());
                let drop = p.from == 0
                    && ((data == 12 && !p.transmit.is_retransmission())
                        || (p.transmit.is_retransmission() && again == 1));
                if drop { Verdict::Drop } else { Verdict::Pass }
            });
        assert!(bench.run(Time::from_secs(10)));
        assert_eq!(bench.ends[0].stats().timeouts, timeouts, "rack {rack}");
    }
}

#[test]
fn rfc3042_the_first_two_duplicates_each_let_a_new_segment_out() {
    for (limited_transmit, expected) in [(true, 2), (false, 0)] {
        let config = Config { limited_transmit, sack: false, initial_window: 4, ack_every: 1, ..config() };
        // Of four segments the first is lost: only three duplicates come, two of them before the third.
        let mut bench = Bench::new(&config, &config, [App::sending(50_000), draining()])
            .path(slow())
            .rule(dropping(vec![1]));
        assert!(bench.run(Time::from_secs(10)));
        let first_again = bench.log.iter().position(|p| p.transmit.is_retransmission()).expect("repaired");
        let before = bench.log[..first_again].iter().filter(|p| p.from == 0 && p.is_data()).count();
        assert_eq!(
            before,
            4 + if limited_transmit { expected } else { 0 },
            "limited transmit {limited_transmit}"
        );
    }
}

#[test]
fn rfc6298_5_a_dead_path_doubles_the_timeout_up_to_the_greatest_and_then_gives_up() {
    let config = Config { rto_max: Time::from_secs(10).into(), ..config() };
    let mut bench = Bench::new(&config, &config, [App::sending(1000), draining()])
        .path(slow())
        .rule(|p| if p.is_data() { Verdict::Drop } else { Verdict::Pass });
    bench.run(Time::from_secs(1000));
    let times: Vec<u64> = bench.data().map(|p| p.at.as_us()).collect();
    let gaps: Vec<u64> = times.windows(2).map(|w| (w[1] - w[0]) / 1000).collect();
    assert_eq!(gaps[..7], [200, 400, 800, 1600, 3200, 6400, 10_000]);
    assert_eq!(gaps.len(), 15);
    assert_eq!(bench.apps[0].closed, Some(CloseReason::TimedOut));
}

#[test]
fn rfc1122_4_2_3_5_short_timeouts_are_not_given_up_within_100_seconds() {
    let fixed = Config { rto_min: Time::from_ms(250).into(), rto_max: Time::from_ms(250).into(), ..config() };
    let mut bench = Bench::new(&fixed, &fixed, [App::sending(1000), draining()])
        .path(slow())
        .rule(|p| if p.is_data() { Verdict::Drop } else { Verdict::Pass });
    bench.run(Time::from_secs(1000));
    let times: Vec<u64> = bench.data().map(|p| p.at.as_us()).collect();
    assert!(times.windows(2).all(|w| w[1] - w[0] == 250_000), "least and greatest alike");
    assert_eq!(times.len(), 400);
    assert_eq!(bench.apps[0].closed, Some(CloseReason::TimedOut));
}

#[test]
fn rfc6298_5_karn_a_retransmission_gives_no_sample_and_the_backed_off_timeout_stays() {
    // No timestamps. The first segment and its first retransmission are lost.
    let mut lost = 0;
    let narrow = Config { initial_window: 1, ack_every: 1, ..config() };
    let mut bench =
        Bench::new(&narrow, &narrow, [App::sending(3000), draining()]).path(slow()).rule(move |p| {
            lost += u32::from(p.is_data());
            if p.is_data() && (lost <= 2 || lost == 4) { Verdict::Drop } else { Verdict::Pass }
        });
    assert!(bench.run(Time::from_secs(10)));
    let times: Vec<Time> = bench.data().map(|p| p.at).collect();
    let waited = |i: usize| (times[i] - times[i - 1]).as_us() / 1000;
    // Sent again after 200 and 400 ms, and acknowledged, which is no sample.
    assert_eq!([waited(1), waited(2), waited(3)], [200, 400, 10]);
    // So the next loss waits for the timeout as it was backed off (5.5 to 5.7).
    let again = bench.data().filter(|p| p.transmit.is_retransmission()).nth(2).expect("a third").at;
    assert_eq!((again - times[3]).as_us() / 1000, 800);
}

#[test]
fn rfc6298_2_3_timers_of_a_coarse_clock_go_off_at_its_ticks() {
    let ticks = Config { clock_tick: Time::from_ms(10), tick_phase: Time::from_ms(3), ..config() };
    let mut bench =
        Bench::new(&ticks, &ticks, [App::sending(1000), draining()]).path(slow()).rule(dropping(vec![1]));
    assert!(bench.run(Time::from_secs(10)));
    let times: Vec<Time> = bench.data().map(|p| p.at).collect();
    // 200 ms after 10 ms and a bit: the tick at 213 ms.
    assert_eq!((times.len(), times[1]), (2, Time::from_ms(213)));
    assert_eq!(bench.ends[0].stats().timeouts, 1);
}

#[test]
fn fast_retransmit_waits_for_as_many_duplicates_as_it_is_told() {
    for (sack, duplicates, timeouts) in [
        (false, Some(3), 0),
        (false, Some(5), 0),
        (false, None, 1),
        (true, Some(3), 0),
        (true, Some(5), 0),
        (true, None, 1),
    ] {
        let config = Config { sack, fast_retransmit: duplicates, ..config() };
        let mut bench = Bench::new(&config, &config, [App::sending(20_000), draining()])
            .path(slow())
            .rule(dropping(vec![3]));
        assert!(bench.run(Time::from_secs(10)));
        let stats = bench.ends[0].stats();
        assert_eq!(
            (stats.timeouts, stats.fast_recoveries),
            (timeouts, 1 - timeouts),
            "{sack} {duplicates:?}"
        );
        let again = bench.log.iter().position(|p| p.transmit.is_retransmission()).expect("repaired");
        let seen = bench.log[..again].iter().filter(|p| p.from == 0 && p.is_data()).count();
        assert!(
            timeouts == 1 || duplicates.is_some_and(|count| seen >= 3 + count as usize),
            "{seen} sent before"
        );
    }
}

#[test]
fn rfc6298_a_syn_is_repeated_after_1_3_7_seconds_and_given_up_after_six_repeats() {
    let mut bench = Bench::new(&config(), &config(), [App::sending(1), draining()]).rule(|_| Verdict::Drop);
    bench.run(Time::from_secs(1000));
    let seconds: Vec<u64> = bench.log.iter().map(|p| p.at.as_us() / 1_000_000).collect();
    assert_eq!(seconds, [0, 1, 3, 7, 15, 31, 63]);
    assert_eq!(bench.apps[0].closed, Some(CloseReason::TimedOut));
}

#[test]
fn rfc8985_7_a_lost_tail_is_repaired_by_a_probe_after_two_round_trips() {
    let probing = Config { rack: true, tail_loss_probe: true, ack_every: 1, ..config() };
    let mut bench = Bench::new(&probing, &probing, [App::sending(10_000), draining()])
        .path(slow())
        .rule(dropping(vec![9, 10]));
    assert!(bench.run(Time::from_secs(10)));
    let stats = bench.ends[0].stats();
    assert_eq!((stats.tail_loss_probes, stats.timeouts), (1, 0), "{stats:?}");
    let last_ack =
        bench.log.iter().rposition(|p| p.from == 1 && p.at < Time::from_ms(30)).map(|i| bench.log[i].at);
    let probe = bench.log.iter().find(|p| p.transmit.is_retransmission()).expect("a probe").at;
    // The last acknowledgement arrives 5 ms after it was sent; SRTT is a little above 10 ms.
    let waited = probe - last_ack.expect("acknowledgements") - Time::from_ms(5);
    assert!(waited >= Time::from_ms(20) && waited < Time::from_ms(21), "{waited}");
    assert!(stats.ssthresh < u64::MAX, "a repaired loss shrinks the window");
}

#[test]
fn linux_a_probe_may_wait_longer_than_two_round_trips() {
    let mut waited = Vec::new();
    for slack in [0, 7] {
        let probing = Config {
            rack: true,
            tail_loss_probe: true,
            ack_every: 1,
            probe_slack: Time::from_ms(slack),
            ..config()
        };
        let mut bench = Bench::new(&probing, &probing, [App::sending(10_000), draining()])
            .path(slow())
            .rule(dropping(vec![9, 10]));
        assert!(bench.run(Time::from_secs(10)));
        waited.push(bench.log.iter().find(|p| p.transmit.is_retransmission()).expect("a probe").at);
    }
    assert_eq!(waited[1] - waited[0], Time::from_ms(7));
}

#[test]
fn rfc8985_7_2_a_probe_of_a_single_segment_waits_for_a_delayed_acknowledgement() {
    let mut waited = Vec::new();
    for max_ack_delay in [None, Some(Time::from_ms(12))] {
        let probing = Config {
            rack: true,
            tail_loss_probe: true,
            ack_every: 1,
            delayed_ack: Time::from_ms(5),
            max_ack_delay,
            ..config()
        };
        let mut bench = Bench::new(&probing, &probing, [App::sending(10_000), draining()])
            .path(slow())
            .rule(dropping(vec![10]));
        assert!(bench.run(Time::from_secs(10)));
        waited.push(bench.log.iter().find(|p| p.transmit.is_retransmission()).expect("a probe").at);
    }
    assert_eq!(waited[1] - waited[0], Time::from_ms(7));
}

#[test]
fn rfc8985_6_2_a_retransmission_that_arrives_tells_of_one_that_was_lost_before_it() {
    for timestamps in [false, true] {
        let rack = Config { rack: true, tail_loss_probe: true, timestamps, ..config() };
        let (mut first, mut again) = (0, 0);
        let mut bench =
            Bench::new(&rack, &rack, [App::sending(10_000), draining()]).path(slow()).rule(move |p| {
                if p.from != 0 || !p.is_data() {
                    return Verdict::Pass;
                }
                let count = if p.transmit.is_retransmission() { &mut again } else { &mut first };
                *count += 1;
                // Two segments of ten are lost, and the first one of them again. Nothing new follows.
                let lost = if p.transmit.is_retransmission() { *count == 1 } else { [3, 5].contains(count) };
                if lost { Verdict::Drop } else { Verdict::Pass }
            });
        assert!(bench.run(Time::from_secs(10)));
        let stats = bench.ends[0].stats();
        assert_eq!((stats.retransmits, stats.timeouts), (3, 0), "timestamps {timestamps}: {stats:?}");
    }
}

#[test]
fn rfc8985_reordering_within_the_window_is_learnt() {
    let rack = Config { rack: true, tail_loss_probe: true, ..config() };
    let mut count = 0;
    let mut bench =
        Bench::new(&rack, &rack, [App::sending(3_000_000), draining()]).path(slow()).rule(move |p| {
            count += u32::from(p.from == 0 && p.is_data());
            // Less than a quarter of the round trip.
            if p.from == 0 && p.is_data() && count % 40 == 0 {
                Verdict::Delay(Time::from_ms(2))
            } else {
                Verdict::Pass
            }
        });
    assert!(bench.run(Time::from_secs(10)));
    let stats = bench.ends[0].stats();
    assert!(stats.retransmits <= 2, "75 packets came late: {stats:?}");
}

#[test]
fn rfc9293_3_8_6_a_closed_window_is_probed_and_opens_again() {
    let small = Config { receive_buffer: 4000, receive_buffer_max: 4000, ..config() };
    let reader = App { read_every: Time::from_ms(700), read_chunk: 4000, ..App::sending(0) };
    let mut lost_updates = 0;
    let mut bench = Bench::new(&small, &small, [App::sending(20_000), reader]).path(slow()).rule(move |p| {
        // The first window update is lost: only a probe can find out.
        let update = p.from == 1 && !p.is_data() && p.at > Time::from_ms(600) && lost_updates == 0;
        lost_updates += u32::from(update);
        if update { Verdict::Drop } else { Verdict::Pass }
    });
    assert!(bench.run(Time::from_secs(60)));
    assert_eq!(bench.apps[1].read, 20_000);
    assert_eq!(bench.ends[0].stats().timeouts, 0, "a probe is not a timeout");
    let shortest = bench.data().map(|p| p.transmit.header.len).min();
    assert_eq!(shortest, Some(1000), "no silly windows");
}

#[test]
fn ends_whose_full_windows_were_lost_do_not_answer_each_other_for_ever() {
    let small = Config { receive_buffer: 2000, receive_buffer_max: 2000, ack_every: 1, ..config() };
    let waits = App { closes: false, ..App::sending(0) };
    let mut bench = Bench::new(&small, &small, [waits.clone(), waits]);
    bench.run(Time::from_ms(1));
    let [here, there] = &mut bench.ends;
    for end in [&mut *here, &mut *there] {
        assert_eq!(end.write(2000), 2000);
        while end.poll_transmit(bench.now).is_some() {}
    }
    let late = here.poll_timer();
    here.handle_timer(late);
    let again = here.poll_transmit(late).expect("the first segment again").header;
    assert_eq!(again.len, 1000);
    there.handle_segment(late, &again, &[], false);
    // What the other end says stands at the right edge of this one's window, and the other way round.
    let answer = there.poll_transmit(late).expect("an acknowledgement").header;
    assert_eq!(answer.len, 0);
    here.handle_segment(late, &answer, &[], false);
    assert_eq!(here.acked(), 1000);
    let more = here.poll_transmit(late).map(|transmit| transmit.header.len);
    assert_ne!(more, Some(0), "it is not answered");
}

#[test]
fn a_refused_connection_says_so() {
    let mut client = Connection::client(&config().into(), 7);
    let syn = client.poll_transmit(Time::ZERO).expect("a SYN").header;
    let reset = syn.refusal().expect("an answer");
    client.handle_segment(Time::from_us(1), &reset, &[], false);
    assert_eq!(client.poll_event(), Some(Event::Closed(CloseReason::Refused)));
    assert_eq!(client.poll_timer(), Time::MAX);
}

#[test]
fn an_abort_resets_the_peer() {
    let mut bench =
        Bench::new(&config(), &config(), [App { closes: false, ..App::sending(1000) }, draining()]);
    bench.run(Time::from_ms(1));
    bench.ends[0].abort();
    let reset = bench.ends[0].poll_transmit(bench.now).expect("a reset").header;
    assert!(reset.flags.contains(Flags::RST) && bench.ends[0].poll_event().is_none());
    bench.ends[1].handle_segment(bench.now, &reset, &[], false);
    assert_eq!(bench.ends[1].poll_event(), Some(Event::Closed(CloseReason::Reset)));
}

#[test]
fn rfc9293_3_5_2_a_reset_has_the_number_that_the_peer_waits_for() {
    let waits = App { closes: false, ..App::sending(0) };
    // Neither the data nor the reset of the one that aborts arrive.
    let mut bench = Bench::new(&config(), &config(), [waits, App::sending(5000)])
        .rule(|p| if p.is_data() { Verdict::Drop } else { Verdict::Pass });
    bench.run(Time::from_ms(1));
    bench.ends[1].abort();
    bench.ends[1].poll_transmit(bench.now).expect("a reset that is lost");
    let [peer, aborted] = &mut bench.ends;
    assert_eq!(peer.write(100), 100);
    let data = peer.poll_transmit(bench.now).expect("data").header;
    aborted.handle_segment(bench.now, &data, &[], false);
    let reset = aborted.poll_transmit(bench.now).expect("a reset").header;
    assert_eq!((reset.seq, reset.flags.contains(Flags::RST)), (data.ack, true));
    peer.handle_segment(bench.now, &reset, &[], false);
    assert_eq!(peer.poll_event(), Some(Event::Closed(CloseReason::Reset)));
    assert!(peer.poll_transmit(bench.now).is_none());
}

#[test]
fn the_fin_rides_on_the_last_data_and_a_repeated_fin_is_acknowledged_again() {
    let mut bench = Bench::new(&config(), &config(), [App::sending(1500), draining()]);
    assert!(bench.run(Time::from_secs(1)));
    let last = bench.data().last().expect("data").transmit.header;
    assert!(last.flags.contains(Flags::FIN) && last.len == 500);
    let end = &mut bench.ends[1];
    end.handle_segment(bench.now, &last, &[], false);
    let again = end.poll_transmit(bench.now).expect("an acknowledgement").header;
    assert_eq!(again.ack, last.seq.wrapping_add(501));
}

#[test]
fn readable_and_writable_come_once_for_each_time_there_was_nothing() {
    let small = Config { send_buffer: 3000, ..config() };
    let mut end = opened(&small);
    let now = Time::from_ms(1);
    end.handle_segment(now, &segment(0), &[], false);
    end.handle_segment(now, &segment(1), &[], false);
    assert_eq!((end.poll_event(), end.poll_event()), (Some(Event::Readable), None));
    assert_eq!(end.read(now, 500), 500);
    end.handle_segment(now, &segment(2), &[], false);
    assert_eq!(end.poll_event(), None, "there still was something");
    assert_eq!(end.read(now, u64::MAX), 2500);
    end.handle_segment(now, &segment(3), &[], false);
    assert_eq!(end.poll_event(), Some(Event::Readable));
    assert_eq!(end.write(5000), 3000);
    assert_eq!(end.write(1), 0);
    for _ in 0..3 {
        end.poll_transmit(now).expect("a segment");
    }
    let ack = |ack| Header { seq: 4001, ack, window: 60_000, flags: Flags::ACK, ..Header::default() };
    end.handle_segment(now, &ack(901), &[], false);
    assert_eq!(end.poll_event(), None, "less than a third is free");
    end.handle_segment(now, &ack(1001), &[], false);
    assert_eq!(end.poll_event(), Some(Event::Writable));
}

#[test]
fn what_is_written_and_closed_before_the_handshake_is_sent_after_it() {
    let mut bench = Bench::new(&config(), &config(), [App { closes: false, ..App::sending(0) }, draining()]);
    assert_eq!(bench.ends[0].write(2500), 2500);
    bench.ends[0].close();
    assert!(bench.run(Time::from_secs(1)));
    assert_eq!(bench.ends[1].received(), 2500);
    assert_eq!(bench.apps[0].closed, Some(CloseReason::Finished));
}
