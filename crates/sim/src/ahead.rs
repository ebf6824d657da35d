//! Looking ahead: what the packets that arrive next will touch is asked for together, so that a large network
//! waits for memory once for many packets.

use crate::body::Body;
use crate::flow::Flow;
use crate::slab::Slab;
use fabric::{Fabric, PortId};
use mem::{prefetch, prefetch_whole};
use smallvec::SmallVec;

/// As many as a bucket of events usually holds.
type Few<T> = SmallVec<[T; 128]>;

/// Asks for what packets need that arrive next by `arrivals`: step by step, for each step needs what the one
/// before it has asked for.
#[inline(never)]
pub(crate) fn look_ahead(fabric: &Fabric<Body>, flows: &Slab<Flow>, arrivals: impl Iterator<Item = u32>) {
    let arrivals: Few<PortId> = arrivals.map(PortId).collect();
    arrivals.iter().for_each(|&port| fabric.prefetch_port(port));
    arrivals.iter().for_each(|&port| fabric.prefetch_front(port));
    arrivals.iter().for_each(|&port| fabric.prefetch_way(port));
    let (mut ports, mut ends): (Few<PortId>, Few<u32>) = Default::default();
    for (packet, next) in arrivals.iter().filter_map(|&port| fabric.next_arrival(port)) {
        match next {
            Some(port) => {
                fabric.prefetch_port(port);
                ports.push(port);
            }
            None => {
                if let Some(flow) = flows.get(packet.body.to >> 1) {
                    prefetch(&flow.in_flight);
                    prefetch_whole(&flow.ends[(packet.body.to & 1) as usize]);
                    ends.push(packet.body.to);
                }
            }
        }
    }
    ports.iter().for_each(|&port| fabric.prefetch_queue(port));
    for end in ends.iter().filter_map(|id| Some(&flows.get(id >> 1)?.ends[(id & 1) as usize])) {
        end.tcp.oldest_in_flight().into_iter().for_each(prefetch);
        if let Some((port, _)) = end.way {
            fabric.prefetch_port(port);
        }
    }
}
