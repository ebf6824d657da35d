//! The rows of flows: a stream's comes from the side that opened it, when the stream goes.

use super::{Streams, World};
use crate::report::{FarEnd, FlowRow, Outcome};
use crate::stream::{Owner, Stage, Stream};
use process::{CloseReason, StreamId};
use std::time::Duration;

/// Rows of flows that are kept.
const FLOWS_KEPT: usize = 1 << 20;
/// Sockets of past streams that are kept until the kernel has done with them.
const PAST: usize = 256;

impl Streams {
    pub(super) fn remove(&mut self, id: StreamId, outcome: Outcome, world: &World<'_>) {
        if self.get(id).is_none() {
            return;
        }
        let slot = id.0 as u32;
        let Some((_, stream)) = self.slots[slot as usize].take() else { return };
        self.free.push(slot);
        self.open -= 1;
        let is_far = self.settings.one_clock && !stream.owner.opener && stream.stage != Stage::Greeting;
        if stream.owner.opener {
            self.keep(near_end(&stream, world, outcome));
        } else if is_far {
            // The kernel may still have to send most of it, when the opener has nothing to say.
            self.past.push_back(stream);
            if self.past.len() > PAST {
                self.count_past();
            }
        }
    }

    /// Notes what the kernel says of the stream that went first, now that others have gone after it.
    fn count_past(&mut self) {
        if let Some(stream) = self.past.pop_front()
            && self.far_ends.len() < FLOWS_KEPT
        {
            self.far_ends.push(far_end(&stream));
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
    pub fn finish(&mut self, world: &World<'_>) -> (Vec<FlowRow>, Vec<FarEnd>, u64) {
        let open: Vec<StreamId> = self.slots.iter().flatten().map(|(id, _)| *id).collect();
        for id in open {
            self.remove(id, Outcome::Unfinished, world);
        }
        while !self.past.is_empty() {
            self.count_past();
        }
        (std::mem::take(&mut self.rows), std::mem::take(&mut self.far_ends), self.rows_lost)
    }
}

fn near_end(stream: &Stream, world: &World<'_>, outcome: Outcome) -> FlowRow {
    let mut row = flow_row(&stream.owner, (stream.sent, stream.received), world, outcome);
    row.received_ps = received(stream);
    if let Ok(info) = sys::tcp::info(&stream.socket) {
        (row.sent_packets, row.sent_bytes) = (info.sent_segments, info.sent_bytes);
        (row.received_packets, row.received_bytes) = (info.received_segments, info.received_bytes);
        (row.retransmits, row.timeouts) = (info.retransmits, info.timeouts);
        (row.min_rtt_ps, row.srtt_ps) = (present(info.min_rtt), present(info.srtt));
    }
    row
}

fn far_end(stream: &Stream) -> FarEnd {
    let info = sys::tcp::info(&stream.socket).unwrap_or_default();
    FarEnd {
        opener: stream.owner.peer.0,
        number: stream.owner.number,
        received_ps: received(stream),
        sent_packets: info.sent_segments,
        sent_bytes: info.sent_bytes,
        retransmits: info.retransmits,
        timeouts: info.timeouts,
        min_rtt_ps: present(info.min_rtt),
        srtt_ps: present(info.srtt),
    }
}

fn received(stream: &Stream) -> Option<u64> {
    (stream.received > 0).then(|| stream.received_at.as_ps())
}

/// A time that the kernel has measured.
fn present(time: Duration) -> Option<u64> {
    Some(crate::clock::to_time(time).as_ps()).filter(|ps| *ps > 0)
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
        number: owner.number,
        group: owner.group,
        from,
        to,
        bytes: sent + received,
        start_ps: owner.opened.as_ps(),
        end_ps: (outcome == Outcome::Finished).then(|| world.now.as_ps()),
        sent_packets: 0,
        sent_bytes: 0,
        received_packets: 0,
        received_bytes: 0,
        received_ps: None,
        retransmits: 0,
        timeouts: 0,
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
