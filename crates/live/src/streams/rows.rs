//! The rows of flows: a stream's comes from the side that opened it, when the stream goes.

use super::{Streams, World};
use crate::report::{FlowRow, Outcome};
use crate::stream::Owner;
use process::{CloseReason, StreamId};

/// Rows of flows that are kept.
const FLOWS_KEPT: usize = 1 << 20;

impl Streams {
    pub(super) fn remove(&mut self, id: StreamId, outcome: Outcome, world: &World<'_>) {
        if self.get(id).is_none() {
            return;
        }
        let slot = id.0 as u32;
        let Some((_, stream)) = self.slots[slot as usize].take() else { return };
        self.free.push(slot);
        self.open -= 1;
        if stream.owner.opener {
            let mut row = flow_row(&stream.owner, (stream.sent, stream.received), world, outcome);
            if let Ok(info) = sys::tcp::info(&stream.socket) {
                row.sent_packets = info.sent_segments + info.received_segments;
                row.sent_bytes = info.sent_bytes + info.received_bytes;
                row.retransmits = info.retransmits;
                let present = |time| Some(crate::clock::to_time(time).as_ps()).filter(|ps| *ps > 0);
                (row.min_rtt_ps, row.srtt_ps) = (present(info.min_rtt), present(info.srtt));
            }
            self.keep(row);
        }
    }

    pub(super) fn keep(&mut self, row: FlowRow) {
        if self.rows.len() < FLOWS_KEPT {
            self.rows.push(row);
        } else {
            self.rows_lost += 1;
        }
    }

    /// Closes the books: streams that are open stay unfinished.
    pub fn finish(&mut self, world: &World<'_>) -> (Vec<FlowRow>, u64) {
        let open: Vec<StreamId> = self.slots.iter().flatten().map(|(id, _)| *id).collect();
        for id in open {
            self.remove(id, Outcome::Unfinished, world);
        }
        (std::mem::take(&mut self.rows), self.rows_lost)
    }
}

pub(super) fn flow_row(
    owner: &Owner,
    (sent, received): (u64, u64),
    world: &World<'_>,
    outcome: Outcome,
) -> FlowRow {
    let (host, peer) = (world.host.0, owner.peer.0);
    let (from, to) = if received > sent { (peer, host) } else { (host, peer) };
    FlowRow {
        job: owner.job,
        group: owner.group,
        from,
        to,
        bytes: sent + received,
        start_ps: owner.opened.as_ps(),
        end_ps: (outcome == Outcome::Finished).then(|| world.now.as_ps()),
        sent_packets: 0,
        sent_bytes: 0,
        retransmits: 0,
        min_rtt_ps: None,
        srtt_ps: None,
        outcome,
    }
}

impl From<CloseReason> for Outcome {
    fn from(reason: CloseReason) -> Outcome {
        match reason {
            CloseReason::Finished => Outcome::Finished,
            CloseReason::Refused => Outcome::Refused,
            CloseReason::Reset => Outcome::Reset,
            CloseReason::TimedOut => Outcome::TimedOut,
        }
    }
}
