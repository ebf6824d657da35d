//! A switch of cells between hosts: times, losses, counters. What its queue does to each cell is compared
//! with a queue that looks at each in `src/cells/tests.rs`.

use crate::support::{Lab, Load, port};
use fabric::topology::single_switch;
use fabric::{
    Buffer, CellDiscard, CellsConfig, Discard, Ecn, Fabric, Framing, Graph, LinkProps, PortId, SwitchConfig,
};
use proptest::prelude::*;
use units::{Rate, Time};

/// A port of an OC-3, and what a cell takes on it.
const LINK: LinkProps = LinkProps { rate: Rate::from_bps(155_520_000), delay: Time::from_us(1), mtu: 9180 };
const CELL: u64 = 2_831_197;

const TAIL: (CellDiscard, u32) = (CellDiscard::Tail, 0);
const PARTIAL: (CellDiscard, u32) = (CellDiscard::Partial, 0);

fn config(limit: u32, (discard, threshold): (CellDiscard, u32)) -> CellsConfig {
    let reassembly_timeout = Time::from_secs(3);
    CellsConfig { limit, discard, threshold, encapsulation: 8, sonet: true, reassembly_timeout }
}

fn lab(graph: &Graph, cells: CellsConfig) -> Lab {
    let config = SwitchConfig { buffer: Buffer::Cells(cells), ..SwitchConfig::default() };
    Lab::new(Fabric::new(graph, Framing::ETHERNET, 1, |_| config.clone()))
}

fn load(at: Time, from: u32, to: u32, bytes: u16) -> Load {
    Load { at, from, to, bytes, class: 0, ecn: Ecn::NotEct }
}

#[test]
fn cells_go_on_while_others_still_come() {
    let graph = single_switch(2, LINK).unwrap();
    let mut lab = lab(&graph, config(2048, TAIL));
    lab.play(&[load(Time::ZERO, 0, 1, 9180), load(Time::ZERO, 0, 1, 40)]);
    // 192 cells, the last of which takes one more cell time through the switch; then 2 behind them.
    let times: Vec<u64> = lab.delivered.iter().map(|(at, ..)| at.as_ps()).collect();
    // They come at the end of the switch's slots, which the link's delay of a microsecond is not a multiple
    // of.
    assert_eq!(times, [194 * CELL + 1_000_000, 196 * CELL + 1_000_000]);
    let (nic, out) =
        (port(&graph, &lab.fabric, "host0", "switch0"), port(&graph, &lab.fabric, "switch0", "host1"));
    assert_eq!(lab.fabric.counters(lab.now, nic).wire_bytes, 194 * 53);
    let counters = lab.fabric.counters(lab.now, out);
    let cells = counters.cells.unwrap();
    assert_eq!((cells.came, cells.dropped, cells.queue_max), (194, 0, 0));
    assert_eq!((counters.wire_bytes, counters.enqueued_packets), (194 * 53, 2));
    assert_eq!(lab.fabric.rate(out), Rate::from_bps(149_760_000));
    assert!(lab.fabric.counters(lab.now, nic).cells.is_none());
}

#[test]
fn a_full_queue_damages_packets_whose_other_cells_take_their_time_all_the_same() {
    let graph = single_switch(100, LINK).unwrap();
    let mut lab = lab(&graph, config(2048, TAIL));
    let loads: Vec<Load> = (1..100).map(|from| load(Time::from_ns(u64::from(from)), from, 0, 8232)).collect();
    lab.play(&loads);
    assert_eq!((lab.delivered.len(), lab.log.discarded.len()), (0, 99));
    assert!(lab.log.discarded.iter().all(|(.., reason)| *reason == Discard::Cell));
    let out = port(&graph, &lab.fabric, "switch0", "host0");
    let counters = lab.fabric.counters(lab.now, out);
    let cells = counters.cells.unwrap();
    assert_eq!((cells.came, cells.came - cells.dropped, cells.queue_max), (99 * 172, 2048 + 172, 2048));
    assert_eq!(counters.wire_bytes, (2048 + 172) * 53);
    assert_eq!(counters.discards.of(Discard::Cell), 99);
    assert_eq!(counters.discards.outbound(), 99);
}

#[test]
fn a_port_is_busy_with_cells_that_have_left_not_with_those_that_wait() {
    let graph = single_switch(5, LINK).unwrap();
    let mut lab = lab(&graph, config(2048, TAIL));
    (1..5).for_each(|from| assert!(lab.send(from, load(Time::ZERO, from, 0, 8232))));
    let out = port(&graph, &lab.fabric, "switch0", "host0");
    // Four come at the same time, so three quarters of their cells wait.
    let soon = Time::from_ps(150 * CELL);
    lab.run(soon);
    assert!(lab.fabric.counters(soon, out).busy <= soon);
    lab.settle(Time::from_secs(1));
    let busy = lab.fabric.counters(lab.now, out).busy.as_ps();
    assert_eq!((busy + CELL / 2) / CELL, 4 * 172);
}

#[test]
fn packet_discard_spares_the_link_cells_of_no_use() {
    let graph = single_switch(100, LINK).unwrap();
    let (packets, cells) = (99, 172);
    let useless = |discard| {
        let mut lab = lab(&graph, config(2048, discard));
        // One begins every 20 cell times.
        let at = |from: u32| Time::from_ps(u64::from(from) * (20 * CELL + 777_777));
        let loads: Vec<Load> = (1..=packets).map(|from| load(at(from), from, 0, 8232)).collect();
        lab.play(&loads);
        let out = port(&graph, &lab.fabric, "switch0", "host0");
        let totals = lab.fabric.counters(lab.now, out).cells.unwrap();
        totals.came - totals.dropped - cells * lab.delivered.len() as u64
    };
    let [tail, partial, early] = [TAIL, PARTIAL, (CellDiscard::Early, 600)].map(useless);
    assert!(tail > partial && partial > 0 && early == 0, "{tail} {partial} {early}");
}

proptest! {
    /// No packet and no cell is made or lost unseen, whatever happens to the links.
    #[test]
    fn every_packet_is_accounted_for(
        loads in proptest::collection::vec((0u64..600_000, 0u32..6, 0u32..6, 40u16..9400), 1..120),
        limit in 1u32..400,
        discard in prop_oneof![Just(TAIL), Just(PARTIAL), (0u32..400).prop_map(|cells| (CellDiscard::Early, cells))],
        faults in proptest::collection::vec((0usize..120, any::<u32>(), 0u8..5), 0..6),
    ) {
        let graph = single_switch(6, LINK).unwrap();
        let mut lab = lab(&graph, config(limit, discard));
        lab.fabric.expect_packets_of(9400);
        let ports: Vec<PortId> = lab.fabric.ports().collect();
        let (mut at, mut sent) = (0, 0);
        for (index, &(gap, from, to, bytes)) in loads.iter().enumerate() {
            at += gap;
            lab.run(Time::from_ns(at));
            for (_, which, what) in faults.iter().filter(|fault| fault.0 == index) {
                let port = ports[*which as usize % ports.len()];
                match what {
                    0 => lab.fabric.take_down(lab.now, port, &mut lab.log),
                    1 => lab.fabric.bring_up(lab.now, port),
                    2 => lab.fabric.set_loss(port, 0.3, 5),
                    3 => lab.fabric.set_corrupt(port, 0.3, 5),
                    _ => lab.fabric.set_rate(lab.now, port, Rate::from_gbps(1), &mut lab.log),
                }
            }
            sent += usize::from(lab.send(index as u32, load(lab.now, from, to, bytes)));
        }
        lab.run(Time::from_secs(100));
        prop_assert_eq!(lab.delivered.len() + lab.log.discarded.len(), sent);
        for &port in &ports {
            prop_assert_eq!(lab.fabric.in_transit(port), 0);
            prop_assert_eq!(lab.fabric.sample(lab.now, port).queue_bytes, 0);
            let counters = lab.fabric.counters(lab.now, port);
            prop_assert_eq!(counters.enqueued_packets, counters.sent_packets);
            if let Some(cells) = counters.cells {
                prop_assert!(cells.dropped <= cells.came && cells.queue_max <= u64::from(limit));
                prop_assert_eq!(counters.wire_bytes, 53 * (cells.came - cells.dropped - cells.abandoned));
            }
        }
    }
}
