//! What became of packets, as a capture of all ports shows it: by names.

use crate::run::Flow;
use fabric::NodeId;
use sim::{PacketSeen, Sim, Transport};
use std::collections::BTreeMap;

type End = (String, u16);

/// What a capture shows of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfFlow {
    /// Segments with data that left one of its ends.
    pub sent: u64,
    /// Segments with data that were discarded at the port of the end that sent them.
    pub at_home: u64,
    /// Segments that were discarded anywhere.
    pub lost: u64,
}

/// What a capture shows.
#[derive(Default)]
pub struct Losses {
    /// By the ends of the flow, in order.
    flows: BTreeMap<(End, End), OfFlow>,
    /// Datagrams that were discarded, by sender and receiver.
    pub datagrams: BTreeMap<(String, String), u64>,
}

impl Losses {
    /// What `packets` show, a capture of all ports.
    pub fn of(packets: &[PacketSeen], sim: &mut Sim) -> Losses {
        let graph = sim.graph().clone();
        let name = |addr: process::Addr| graph.name(NodeId(addr.host.0)).to_owned();
        let mut losses = Losses::default();
        for packet in packets {
            let Transport::Tcp { header, .. } = &packet.transport else {
                let pair = (name(packet.from), name(packet.to));
                *losses.datagrams.entry(pair).or_default() += u64::from(packet.discard.is_some());
                continue;
            };
            let ends = [packet.from, packet.to].map(|addr| (name(addr), addr.port));
            let flow = losses.flows.entry(sorted(ends)).or_default();
            let data = u64::from(header.len > 0 && sim.network().ends(packet.port).0.0 == packet.from.host.0);
            match packet.discard {
                None => flow.sent += data,
                Some(_) => {
                    flow.lost += 1;
                    flow.at_home += data;
                }
            }
        }
        losses
    }

    /// What became of the segments of `flow`.
    pub fn of_flow(&self, flow: &Flow) -> OfFlow {
        let ends = sorted([flow.from.clone(), flow.to.clone()]);
        self.flows.get(&ends).copied().unwrap_or_default()
    }
}

fn sorted(mut ends: [End; 2]) -> (End, End) {
    ends.sort();
    let [a, b] = ends;
    (a, b)
}
