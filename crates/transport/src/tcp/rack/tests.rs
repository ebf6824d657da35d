//! RFC 8985's rules on small scoreboards; segments of 1000 bytes from offset 1, one a millisecond.

use super::*;

const MS: fn(u64) -> Time = Time::from_ms;

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1);
    for i in 0..segments {
        board.push(MS(i), 1000, 0);
    }
    board
}

fn rtt(ms: u64) -> RttEstimator {
    let mut rtt = RttEstimator::new(MS(1000), MS(1), MS(60_000));
    rtt.sample(MS(ms));
    rtt
}

/// SACKs segments `first..end` at `now`.
fn sack(rack: &mut Rack, board: &mut Scoreboard, now: Time, first: u64, end: u64) {
    let block = crate::tcp::scoreboard::Range { start: 1 + 1000 * first, end: 1 + 1000 * end };
    board.sack(&[block], |segment| rack.deliver(now, segment, MS(40), Time::ZERO));
}

#[test]
fn the_reordering_window_starts_at_a_quarter_of_the_least_round_trip() {
    let rack = Rack { reordering_seen: true, ..Rack::default() };
    assert_eq!(rack.reordering_window(&rtt(40), false, 1), MS(10));
    assert_eq!(rack.reordering_window(&rtt(40), true, 9), MS(10));
}

#[test]
fn without_reordering_it_is_zero_in_recovery_or_with_three_segments_sacked() {
    let rack = Rack::default();
    assert_eq!(rack.reordering_window(&rtt(40), false, 2), MS(10));
    assert_eq!(rack.reordering_window(&rtt(40), false, 3), Time::ZERO);
    assert_eq!(rack.reordering_window(&rtt(40), true, 1), Time::ZERO);
}

#[test]
fn a_dsack_widens_it_once_a_round_up_to_srtt_and_sixteen_recoveries_reset_it() {
    let mut rack = Rack { reordering_seen: true, ..Rack::default() };
    let mut b = board(4);
    rack.adapt(&b, true, false);
    rack.adapt(&b, true, false);
    assert_eq!(rack.reordering_window(&rtt(40), false, 0), MS(20), "once a round trip");
    for _ in 0..6 {
        b.acknowledge(b.nxt, |_| ());
        b.push(MS(9), 1000, 0);
        rack.adapt(&b, true, false);
    }
    assert_eq!(rack.reordering_window(&rtt(40), false, 0), MS(40), "at most SRTT");
    b.acknowledge(b.nxt, |_| ());
    for _ in 0..16 {
        rack.adapt(&b, false, true);
    }
    assert_eq!(rack.reordering_window(&rtt(40), false, 0), MS(10));
}

#[test]
fn a_segment_is_lost_when_a_later_one_arrived_and_the_window_has_passed() {
    let (mut rack, mut b) = (Rack::default(), board(5));
    sack(&mut rack, &mut b, MS(42), 2, 3);
    // Segment 0 is lost at 0 + 40 + 10 ms, segment 1 a millisecond later; 3 and 4 were sent after 2.
    assert_eq!(rack.detect(&mut b, MS(42), MS(10)), (false, MS(8)));
    assert_eq!(rack.detect(&mut b, MS(50), MS(10)), (true, MS(1)));
    assert_eq!(b.to_resend, 1000);
    assert_eq!(rack.detect(&mut b, MS(51), MS(10)), (true, Time::MAX));
    assert_eq!(b.to_resend, 2000);
}

#[test]
fn a_retransmission_is_lost_when_something_sent_after_it_arrived() {
    let (mut rack, mut b) = (Rack::default(), board(3));
    sack(&mut rack, &mut b, MS(42), 1, 3);
    assert!(rack.detect(&mut b, MS(42), Time::ZERO).0);
    b.resend(MS(43), 0);
    rack.note_resent(1, MS(43));
    b.push(MS(44), 1000, 0);
    assert_eq!(rack.detect(&mut b, MS(60), Time::ZERO), (false, Time::MAX));
    sack(&mut rack, &mut b, MS(84), 3, 4);
    assert_eq!(rack.detect(&mut b, MS(84), Time::ZERO), (true, Time::MAX));
    assert_eq!(b.to_resend, 1000);
}

#[test]
fn an_acknowledgement_too_soon_after_a_retransmission_is_for_the_first_transmission() {
    let mut rack = Rack::default();
    let resent = Delivered { sent: MS(100), end: 1001, resent: true };
    rack.deliver(MS(105), resent, MS(40), Time::ZERO);
    assert_eq!(rack.xmit_ts, Time::ZERO);
    rack.deliver(MS(150), resent, MS(40), MS(60));
    assert_eq!(rack.xmit_ts, Time::ZERO, "the echo is older than the retransmission");
    rack.deliver(MS(150), resent, MS(40), MS(100));
    assert_eq!((rack.xmit_ts, rack.rtt), (MS(100), MS(50)));
}
