//! Head-of-line blocking: one queue for each port of entry has it, virtual output queues don't.
//!
//! The switch with one queue for each port of entry is the textbook's, in slots, and only here to
//! compare with: Karol, Hluchyj & Morgan, "Input Versus Output Queueing on a Space-Division Packet
//! Switch", IEEE Trans. Comm. 35(12), 1987. Its saturation throughputs (table I) are the vectors.

use crate::support::{Lab, Load};
use fabric::topology::single_switch;
use fabric::{Buffer, Ecn, Fabric, Framing, LinkProps, SwitchConfig};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use units::{Bytes, Rate, Time};

const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };
/// What a packet of 1500 bytes takes on the wire.
const SLOT_PS: u64 = 1538 * 800;

/// Destinations of the packets of each port of entry, in order: uniform over as many ports of exit.
fn uniform(ports: usize, packets: usize) -> Vec<Vec<usize>> {
    let mut draws = Pcg32::seed_from_u64(1);
    (0..ports).map(|_| (0..packets).map(|_| draws.random_range(0..ports)).collect()).collect()
}

/// Packets that one queue for each port of entry lets through in `slots`, when none ever runs empty: in a
/// slot, a port of exit takes one of the packets at the heads of the queues.
fn through_fifos(queues: &[Vec<usize>], slots: usize) -> usize {
    let mut heads = vec![0; queues.len()];
    let mut sent = 0;
    for slot in 0..slots {
        let mut taken = vec![false; queues.len()];
        for turn in 0..queues.len() {
            let port = (turn + slot) % queues.len();
            let to = queues[port][heads[port]];
            if !std::mem::replace(&mut taken[to], true) {
                heads[port] += 1;
                sent += 1;
            }
        }
    }
    sent
}

fn voq_lab(hosts: u32) -> Lab {
    let size = Bytes::new(8_000_000_000);
    let buffer = Buffer::Voq {
        size,
        alpha: 1.0,
        reserved: 0.0,
        multicast: 0.0,
        cap: size,
        processors: None,
        cell: Bytes::new(1),
    };
    let config = SwitchConfig { buffer, ..SwitchConfig::default() };
    Lab::new(Fabric::new(&single_switch(hosts, LINK).unwrap(), Framing::ETHERNET, 1, |_| config.clone()))
}

/// Packets that virtual output queues let through in `slots`; every port of entry receives at full rate.
fn through_voqs(queues: &[Vec<usize>], slots: usize) -> usize {
    let ports = queues.len() as u32;
    let mut lab = voq_lab(2 * ports);
    for slot in 0..slots {
        let at = Time::from_ps(slot as u64 * SLOT_PS);
        lab.run(at);
        for (from, queue) in queues.iter().enumerate() {
            let to = ports + queue[slot] as u32;
            let load = Load { at, from: from as u32, to, bytes: 1500, class: 0, ecn: Ecn::NotEct };
            lab.send((slot as u32) * ports + from as u32, load);
        }
    }
    // As many slots for the ports of exit as for those of entry.
    lab.run(Time::from_ps((slots as u64 + 1) * SLOT_PS) + Time::from_us(2));
    lab.delivered.len()
}

#[test]
fn one_queue_a_port_of_entry_saturates_where_the_paper_says() {
    for (ports, expected) in [(2, 0.75), (4, 0.6553), (8, 0.6184), (64, 2.0 - 2f64.sqrt())] {
        let slots = 40_000 / ports;
        let got = through_fifos(&uniform(ports, slots), slots) as f64 / (slots * ports) as f64;
        assert!((got - expected).abs() < 0.012, "{ports} ports: {got:.4} for {expected:.4}");
    }
}

#[test]
fn virtual_output_queues_carry_what_one_queue_a_port_cannot() {
    let (ports, slots) = (8, 2500);
    let queues = uniform(ports, slots);
    let whole = (ports * slots) as f64;
    let (fifo, voq) = (through_fifos(&queues, slots) as f64, through_voqs(&queues, slots) as f64);
    assert!(fifo / whole < 0.63, "{}", fifo / whole);
    assert!(voq / whole > 0.97, "{}", voq / whole);
}

#[test]
fn a_packet_for_an_idle_port_passes_those_for_a_busy_one() {
    // Hosts 0 and 1 fill port 2; then host 0 sends one packet to host 3.
    let mut lab = voq_lab(4);
    for number in 0..100 {
        for from in 0..2 {
            lab.send(number, Load { at: Time::ZERO, from, to: 2, bytes: 1500, class: 0, ecn: Ecn::NotEct });
        }
    }
    lab.send(1000, Load { at: Time::ZERO, from: 0, to: 3, bytes: 1500, class: 0, ecn: Ecn::NotEct });
    lab.run(Time::from_secs(1));
    let (at, ..) = lab.delivered.iter().find(|(_, number, _)| *number == 1000).unwrap();
    // Behind 100 packets at its own host, and nowhere else.
    assert_eq!(at.as_ps(), 102 * SLOT_PS + 2_000_000);
    // One queue a port of entry would have let it go after the last of those 100, at slot 200 or so.
    assert!(lab.delivered.last().unwrap().0.as_ps() > 200 * SLOT_PS);
}
