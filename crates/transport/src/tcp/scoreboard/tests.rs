//! RFC 6675's definitions on small scoreboards; segments of 1000 bytes from offset 1.

use super::*;

const MSS: u32 = 1000;

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1);
    for i in 0..segments {
        board.push(Time::from_us(i), MSS, 0);
    }
    board
}

fn range(first: u64, end: u64) -> Range {
    Range { start: 1 + 1000 * first, end: 1 + 1000 * end }
}

fn sack(board: &mut Scoreboard, ranges: &[Range]) -> u64 {
    board.sack(ranges, |_| ())
}

#[test]
fn records_are_24_bytes() {
    assert_eq!(std::mem::size_of::<Segment>(), 24);
}

#[test]
fn is_lost_with_three_discontiguous_ranges_above() {
    let mut b = Scoreboard::new(1);
    for i in 0..10 {
        b.push(Time::from_us(i), 10, 0);
    }
    let small = |i: u64| Range { start: 1 + 10 * i, end: 11 + 10 * i };
    sack(&mut b, &[small(5), small(3)]);
    assert_eq!(b.lost_below(MSS, 3), b.una, "two ranges of ten bytes");
    sack(&mut b, &[small(7), small(5), small(3)]);
    // Everything below the third range from above.
    assert_eq!(b.lost_below(MSS, 3), 31);
}

#[test]
fn is_lost_with_more_than_two_segments_of_bytes_above() {
    let mut b = board(10);
    sack(&mut b, &[range(4, 6)]);
    assert_eq!(b.lost_below(MSS, 3), b.una, "two full segments are not more than two");
    sack(&mut b, &[range(4, 7)]);
    assert_eq!(b.lost_below(MSS, 3), range(4, 7).start);
}

#[test]
fn set_pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_sent_again() {
    let mut b = board(10);
    assert_eq!(b.pipe, 10_000);
    assert_eq!(sack(&mut b, &[range(4, 7)]), 3000);
    assert_eq!(b.pipe, 7000);
    assert!(b.mark_lost_below(b.lost_below(MSS, 3)));
    assert_eq!((b.pipe, b.to_resend), (3000, 4000), "segments 0 to 3 are lost");
    let first = b.next_lost().expect("one to send");
    assert_eq!(b.resend(Time::from_ms(1), first).start, 1);
    assert_eq!((b.pipe, b.to_resend), (4000, 3000));
    // Rule 3: segment 7 is not lost, but may go again: it counts twice.
    b.resend(Time::from_ms(1), 7);
    assert_eq!(b.pipe, 5000);
    b.acknowledge(1001, |_| ());
    assert_eq!(b.pipe, 4000);
    b.acknowledge(10_001, |_| ());
    assert_eq!((b.pipe, b.sacked, b.to_resend, b.len()), (0, 0, 0, 0));
}

#[test]
fn repeated_and_growing_blocks_count_once_and_segments_covered_in_part_not() {
    let mut b = board(10);
    let part = Range { start: 4001, end: 5501 };
    assert_eq!(sack(&mut b, &[part]), 1000);
    assert_eq!(sack(&mut b, &[part]), 0);
    assert_eq!(sack(&mut b, &[range(4, 8)]), 3000);
    assert_eq!(sack(&mut b, &[range(3, 9)]), 2000);
    assert_eq!(b.sacked_segments, 6);
}

#[test]
fn a_timeout_loses_all_but_what_is_sacked_and_reneging_forgets_that_too() {
    let mut b = board(4);
    sack(&mut b, &[range(2, 3)]);
    b.mark_all_lost();
    assert_eq!((b.pipe, b.to_resend, b.sacked), (0, 3000, 1000));
    // The receiver acknowledges up to the block, but not the block: it threw it away.
    b.acknowledge(2001, |_| ());
    b.mark_all_lost();
    assert_eq!((b.pipe, b.to_resend, b.sacked), (0, 2000, 0));
}

#[test]
fn an_acknowledgement_within_a_segment_trims_it() {
    let mut b = board(2);
    b.acknowledge_clean(501);
    assert_eq!((b.pipe, b.flight(), b.len()), (1500, 1500, 2));
    sack(&mut b, &[range(1, 2)]);
    let acked = b.acknowledge(801, |_| ());
    assert_eq!((acked.delivered, b.pipe), (300, 200));
    assert_eq!(b.acknowledge(2001, |_| ()).delivered, 200);
}
