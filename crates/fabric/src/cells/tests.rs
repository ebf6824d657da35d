//! The queue against one that looks at each cell on its own.

use super::*;
use crate::config::CellDiscard;
use proptest::prelude::*;
use std::collections::VecDeque;
use units::testing::cases;

const CELL: u64 = 1000;

/// A packet of so many cells, the first bit of which comes from a link at a time.
#[derive(Clone, Copy, Debug)]
struct Packet {
    link: u32,
    start: u64,
    cells: u32,
}

impl Packet {
    fn end(&self) -> u64 {
        self.start + u64::from(self.cells) * CELL
    }
}

/// What came of all packets, in the order in which they are given: cells lost, when the last one left.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    packets: Vec<(u32, Option<u64>)>,
    came: u64,
    dropped: u64,
    queue_max: u64,
}

const SEED: u64 = 7;

/// Slot by slot and cell by cell: a first-in first-out queue, and a transmitter that takes one cell a slot.
fn cell_by_cell(packets: &[Packet], config: &CellsConfig) -> Outcome {
    let mut slots: BTreeMap<u64, Vec<(u64, u32, usize, u32)>> = BTreeMap::new();
    for (index, packet) in packets.iter().enumerate() {
        for number in 0..packet.cells {
            let at = packet.start + u64::from(number + 1) * CELL;
            slots.entry(at.div_ceil(CELL)).or_default().push((at, packet.link, index, number));
        }
    }
    let mut outcome = Outcome { packets: vec![(0, None); packets.len()], ..Outcome::default() };
    let mut refused = vec![false; packets.len()];
    let (mut waiting, mut slot) = (VecDeque::new(), 0);
    while let Some((&next, _)) = slots.first_key_value() {
        let send = |waiting: &mut VecDeque<(usize, bool)>, at: u64, outcome: &mut Outcome| {
            if let Some((index, true)) = waiting.pop_front() {
                outcome.packets[index].1 = Some((at + 1) * CELL);
            }
        };
        while slot < next {
            send(&mut waiting, slot, &mut outcome);
            slot += 1;
        }
        let mut cells = slots.remove(&next).unwrap_or_default();
        cells.sort_unstable();
        outcome.came += cells.len() as u64;
        // The transmitter takes the first at the slot's end: before others are let in, if there is one.
        let ahead = waiting.len();
        let length = ahead.saturating_sub(1) as u32;
        cells.retain(|&(_, _, index, number)| {
            if config.discard == CellDiscard::Early && number == 0 {
                refused[index] = length >= config.threshold;
            }
            let damaged = config.discard != CellDiscard::Tail && outcome.packets[index].0 > 0;
            let wanted = !refused[index] && (!damaged || number + 1 == packets[index].cells);
            outcome.packets[index].0 += u32::from(!wanted);
            wanted
        });
        let room = config.limit as usize + 1 - ahead;
        let first = if room < cells.len() {
            ((u128::from(crate::routing::mix(SEED ^ next)) * cells.len() as u128) >> 64) as usize
        } else {
            0
        };
        let admitted: Vec<usize> =
            (first..first + room.min(cells.len())).map(|turn| turn % cells.len()).collect();
        for (turn, &(_, _, index, number)) in cells.iter().enumerate() {
            if admitted.contains(&turn) {
                waiting.push_back((index, number + 1 == packets[index].cells));
            } else {
                outcome.packets[index].0 += 1;
            }
        }
        outcome.queue_max = outcome.queue_max.max(waiting.len().saturating_sub(1) as u64);
        if slots.is_empty() {
            for at in slot..slot + waiting.len() as u64 {
                send(&mut waiting, at, &mut outcome);
            }
        }
    }
    outcome.dropped = outcome.packets.iter().map(|(lost, _)| u64::from(*lost)).sum();
    outcome
}

fn queue(config: CellsConfig) -> CellQueue {
    CellQueue::new(config, Time::from_ps(CELL), SEED)
}

/// The queue, told of each packet when it begins and asked when it ends.
fn by_trains(packets: &[Packet], config: CellsConfig) -> Outcome {
    let mut queue = queue(config);
    let mut calls: Vec<(u64, bool, u32, usize)> = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        calls.push((packet.start, false, packet.link, index));
        calls.push((packet.end(), true, packet.link, index));
    }
    calls.sort_unstable();
    let mut outcome = Outcome { packets: vec![(0, None); packets.len()], ..Outcome::default() };
    for (at, ends, link, index) in calls {
        if !ends {
            queue.announce(link, Time::from_ps(at), packets[index].cells);
            continue;
        }
        let slot = at.div_ceil(CELL);
        queue.advance(slot);
        let found = queue.ended.iter().position(|ended| ended.link == link && ended.slot == slot);
        let ended = queue.ended.remove(found.expect("its last cell has come"));
        outcome.packets[index] = (ended.lost, ended.left.map(|slot| slot * CELL));
    }
    let totals = queue.totals(Time::from_ps(u64::MAX / 2));
    (outcome.came, outcome.dropped, outcome.queue_max) = (totals.came, totals.dropped, totals.queue_max);
    outcome
}

const TAIL: (CellDiscard, u32) = (CellDiscard::Tail, 0);
const PARTIAL: (CellDiscard, u32) = (CellDiscard::Partial, 0);

fn config(limit: u32, (discard, threshold): (CellDiscard, u32)) -> CellsConfig {
    let reassembly_timeout = Time::from_secs(3);
    CellsConfig { limit, discard, threshold, encapsulation: 8, sonet: true, reassembly_timeout }
}

/// Packets of up to 12 links, each link's one behind the other; many begin at the same phase.
fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![Just(0u64), 0u64..3 * CELL, (0u64..40).prop_map(|n| n * CELL), 0u64..60 * CELL];
    let packet = (0u32..12, gap, prop_oneof![1u32..4, 1u32..80]);
    proptest::collection::vec(packet, 1..60).prop_map(|drawn| {
        let mut free = [0u64; 12];
        let place = |(link, gap, cells): (u32, u64, u32)| {
            let start = free[link as usize] + gap;
            let packet = Packet { link, start, cells };
            free[link as usize] = packet.end();
            packet
        };
        drawn.into_iter().map(place).collect()
    })
}

fn discard() -> impl Strategy<Value = (CellDiscard, u32)> {
    prop_oneof![
        2 => Just(TAIL),
        1 => Just(PARTIAL),
        1 => (0u32..30).prop_map(|cells| (CellDiscard::Early, cells)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1000)))]
    #[test]
    fn trains_are_exact_to_the_cell(packets in packets(), limit in 1u32..60, discard in discard()) {
        let config = config(limit, discard);
        prop_assert_eq!(by_trains(&packets, config), cell_by_cell(&packets, &config));
    }

    /// Asking in between changes nothing.
    #[test]
    fn who_looks_changes_nothing(
        packets in packets(), limit in 1u32..60, discard in discard(), every in 1u64..7 * CELL,
    ) {
        let (mut seldom, mut often) = (queue(config(limit, discard)), queue(config(limit, discard)));
        for packet in &packets {
            seldom.announce(packet.link, Time::from_ps(packet.start), packet.cells);
            often.announce(packet.link, Time::from_ps(packet.start), packet.cells);
        }
        let end = packets.iter().map(Packet::end).max().unwrap_or(0);
        (0..end).step_by(every as usize).for_each(|at| often.advance(at / CELL));
        let end = Time::from_ps(end);
        prop_assert_eq!(seldom.totals(end), often.totals(end));
        prop_assert_eq!(seldom.free, often.free);
        for packet in &packets {
            let at = Time::from_ps(packet.end());
            prop_assert_eq!(seldom.take(packet.link, at), often.take(packet.link, at));
        }
    }
}

/// The document's switch: 99 packets of 172 cells at once, for one of 128 ports with 2048 cells.
#[test]
fn ninety_nine_blocks_at_once() {
    let packets: Vec<Packet> = (0..99).map(|link| Packet { link, start: 0, cells: 172 }).collect();
    let outcome = by_trains(&packets, config(2048, TAIL));
    assert_eq!(outcome, cell_by_cell(&packets, &config(2048, TAIL)));
    assert_eq!((outcome.came, outcome.queue_max), (99 * 172, 2048));
    // 2048 wait, one has left or is leaving a cell time.
    assert_eq!(outcome.dropped, 99 * 172 - 2048 - 172);
    // Nobody is lucky 150 times.
    assert!(outcome.packets.iter().all(|(lost, _)| *lost > 100));
    // Blocks of 20 cells never lose one.
    let short: Vec<Packet> = packets.iter().map(|packet| Packet { cells: 20, ..*packet }).collect();
    assert_eq!(by_trains(&short, config(2048, TAIL)).dropped, 0);
}

#[test]
fn a_packet_without_end_takes_the_next_one_with_it() {
    let at = |slot: u64| Time::from_ps(slot * CELL);
    let config = CellsConfig { reassembly_timeout: at(50), ..config(2, (CellDiscard::Early, 0)) };
    let fates = |closed: std::ops::Range<u64>, gap: u64| {
        let mut queue = queue(CellsConfig { discard: CellDiscard::Tail, ..config });
        queue.announce(1, at(0), 10);
        queue.close(at(closed.start));
        queue.open(at(closed.end));
        queue.announce(1, at(10 + gap), 5);
        [queue.take(1, at(10)), queue.take(1, at(15 + gap))]
    };
    let whole = |gap: u64| Fate::Whole(at(16 + gap));
    assert_eq!(fates(6..10, 10), [Fate::Damaged, Fate::Merged]);
    assert_eq!(fates(6..10, 60), [Fate::Damaged, whole(60)], "the receiver has forgotten it");
    assert_eq!(fates(2..6, 10), [Fate::Damaged, whole(10)], "the last cell came");
    assert_eq!(fates(0..10, 10), [Fate::Damaged, whole(10)], "no cell came");
    // Refused as a whole, nothing of it comes.
    let mut queue = queue(config);
    queue.announce(0, at(0), 10);
    assert_eq!((queue.take(0, at(10)), queue.remains.len()), (Fate::Damaged, 0));
}

#[test]
fn a_link_that_is_cut_brings_no_more() {
    let mut queue = queue(config(10, TAIL));
    queue.announce(0, Time::ZERO, 10);
    queue.cut(0, Time::from_ps(4 * CELL));
    let totals = queue.totals(Time::from_ps(20 * CELL));
    assert_eq!((totals.came, totals.dropped), (4, 0));
    queue.announce(0, Time::from_ps(20 * CELL), 2);
    assert_eq!(queue.take(0, Time::from_ps(22 * CELL)), Fate::Merged, "its receiver has four cells");
    queue.announce(0, Time::from_ps(30 * CELL), 4);
    queue.close(Time::from_ps(32 * CELL));
    queue.open(Time::from_ps(33 * CELL));
    assert_eq!(queue.take(0, Time::from_ps(34 * CELL)), Fate::Damaged);
    assert_eq!(queue.totals(Time::from_ps(40 * CELL)).dropped, 1);
}
