//! RED forgets a burst while its queue is empty, wherever the queue is: every kind of port, class and virtual
//! output queue, with a fluid or without (Floyd & Jacobson 1993, section 4: the idle time).

use crate::support::{Lab, Load, port};
use fabric::topology::single_switch;
use fabric::{
    Buffer, Depth, Ecn, Fabric, FluidFlow, Framing, LinkProps, NodeId, Queue, RedConfig, Scheduler,
    SwitchConfig,
};
use proptest::prelude::*;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(1), delay: Time::from_us(1), mtu: 9000 };
const ETS: Scheduler = Scheduler::Ets { strict: 0, weights: [1; 8] };

fn red(weight: f64) -> Queue {
    let (min, max) = (Depth::Bytes(20_000), Depth::Bytes(80_000));
    Queue::Red(RedConfig { min, max, max_p: 0.02, weight, gentle: false, ecn: false })
}

fn shared() -> Buffer {
    let (size, cell) = (Bytes::new(9_000_000), Bytes::new(256));
    Buffer::Shared { size, alpha: 1.0, reserve: Bytes::new(0), cell }
}

fn voq() -> Buffer {
    let (size, cap, cell) = (Bytes::new(9_000_000), Bytes::new(9_000_000), Bytes::new(256));
    Buffer::Voq { size, alpha: 1.0, reserved: 0.0, multicast: 0.0, cap, processors: None, cell }
}

fn load(at: Time, from: u32, class: u8) -> Load {
    Load { at, from, to: 2, bytes: 1500, class, ecn: Ecn::NotEct }
}

/// A burst of 3 ms from three hosts, then a datagram into the empty queue once a millisecond: how many of 990
/// arrive.
fn survivors(buffer: Buffer, scheduler: Scheduler, class: u8, fluid: bool) -> usize {
    let graph = single_switch(4, LINK).unwrap();
    let config = SwitchConfig { buffer, queue: red(0.002), scheduler, ..SwitchConfig::default() };
    let mut lab = Lab::new(Fabric::new(&graph, Framing::ETHERNET, 1, |_| config.clone()));
    if fluid {
        let (from, to) = (NodeId(0), NodeId(2));
        let hash = lab.fabric.flow_hash(from, to, 9, 9, 17);
        let flow = FluidFlow { from, to, hash, rate: Rate::from_bps(200_000_000), packet_bytes: 1500 };
        assert!(lab.fabric.start_fluid(Time::ZERO, &flow));
    }
    // Three hosts send at line rate, which is 12.3 µs a packet.
    let at = |n: u64| Time::from_ns(n * 12_500);
    let mut loads: Vec<Load> =
        (0..240).flat_map(|n| [0, 1, 3].map(|from| load(at(n), from, class))).collect();
    let burst = loads.len() as u32;
    loads.extend((0..990).map(|n| load(Time::from_ms(6 + n), 0, class)));
    lab.play(&loads);
    lab.delivered.iter().filter(|(_, number, _)| *number >= burst).count()
}

#[test]
fn red_forgets_a_burst_on_every_kind_of_port() {
    let fixed = Buffer::Static { limit: Depth::Bytes(9_000_000) };
    for (name, buffer) in [("static", fixed), ("shared", shared()), ("voq", voq())] {
        for (scheduler, class) in [(Scheduler::Fifo {}, 0), (ETS, 0), (ETS, 5)] {
            let arrived = survivors(buffer, scheduler, class, false);
            assert!(arrived >= 985, "{name}, {scheduler:?}, class {class}: {arrived} of 990");
        }
    }
}

#[test]
fn red_forgets_a_burst_beside_a_fluid() {
    let fixed = Buffer::Static { limit: Depth::Bytes(9_000_000) };
    for (name, buffer) in [("static", fixed), ("shared", shared())] {
        let arrived = survivors(buffer, Scheduler::Fifo {}, 0, true);
        assert!(arrived >= 985, "{name} with a fluid: {arrived} of 990");
    }
}

proptest! {
    /// RED's average, and so which packets it drops, does not depend on where the memory is or how classes
    /// share the line.
    #[test]
    fn red_is_the_same_on_every_kind_of_port(
        items in proptest::collection::vec((0u64..60_000, 0u32..2, 40u16..3000), 1..300),
    ) {
        let mut at = Time::ZERO;
        let loads: Vec<Load> = items.iter().map(|&(gap, from, bytes)| {
            at += Time::from_ns(gap);
            Load { at, from, to: 2, bytes, class: 0, ecn: Ecn::NotEct }
        }).collect();
        let outcome = |buffer, scheduler| {
            let graph = single_switch(3, LINK).unwrap();
            let (min, max) = (Depth::Bytes(2_000), Depth::Bytes(8_000));
            let red = Queue::Red(RedConfig { min, max, max_p: 0.2, weight: 0.2, gentle: true, ecn: false });
            let config = SwitchConfig { buffer, queue: red, scheduler, ..SwitchConfig::default() };
            let mut lab = Lab::new(Fabric::new(&graph, Framing::ETHERNET, 1, |_| config.clone()));
            lab.play(&loads);
            let out = port(&graph, &lab.fabric, "switch0", "host2");
            (lab.delivered, lab.fabric.counters(lab.now, out).discards)
        };
        let fixed = Buffer::Static { limit: Depth::Bytes(9_000_000) };
        let plain = outcome(fixed, Scheduler::Fifo {});
        prop_assert_eq!(&outcome(fixed, ETS), &plain);
        prop_assert_eq!(&outcome(shared(), Scheduler::Fifo {}), &plain);
        prop_assert_eq!(&outcome(shared(), ETS), &plain);
    }
}
