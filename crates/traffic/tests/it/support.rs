//! Hosts, a generator, and a world in which every message is delayed alike.

use process::testing::{Network, World};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use traffic::HostInfo;
use units::{Bytes, Rate, Time};

/// `n` hosts with 10 Gb/s links.
pub fn hosts(n: usize) -> Vec<HostInfo> {
    vec![HostInfo { rate: Rate::from_gbps(10), mtu: Bytes::new(1500) }; n]
}

/// A generator for tests.
pub fn rng(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed)
}

/// Messages take `delay`; a stream holds `buffer` bytes each way. Datagrams are kept.
pub fn empty_world(delay: Time, buffer: u64) -> World {
    let mut world = World::new(Network { delay, buffer, ..Network::default() }, 1);
    world.keep_sent = true;
    world
}
