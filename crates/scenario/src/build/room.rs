//! Whether a switch's memory has room for what its settings speak of: a packet, a marking threshold.

use super::pfc::Way;
use crate::problem::Problem;
use crate::spec::{Depth, Queue, Switch};
use fabric::Buffer;

/// Refuses a shared memory that no packet fits into, and thresholds that no queue can reach.
pub(super) fn check(config: &Switch, buffer: &Buffer, links: &[Way], path: &str) -> Result<(), Problem> {
    let Some(most) = Most::of(buffer) else { return Ok(()) };
    if let Most::Shared(bytes) = most {
        // What comes in by the smallest MTU may come in by any.
        let packet = links.iter().map(|(into, _)| u64::from(into.mtu)).min().unwrap_or_default();
        if bytes < packet {
            let message = format!("{bytes} B: a packet of {packet} B, the MTU of its links, does not fit");
            return Err(Problem::new(format!("{path}.buffer"), message));
        }
    }
    threshold(&config.queue, most, &format!("{path}.queue"))?;
    config
        .class_queues
        .iter()
        .enumerate()
        .try_for_each(|(index, (_, queue))| threshold(queue, most, &format!("{path}.class_queues[{index}]")))
}

/// The most that a queue can hold.
#[derive(Clone, Copy)]
enum Most {
    /// Its own memory.
    Bytes(u64),
    /// Its own number of packets.
    Packets(u64),
    /// Of memory that others have too, in bytes.
    Shared(u64),
}

impl Most {
    /// Nothing where cells are counted: they have checks of their own.
    fn of(buffer: &Buffer) -> Option<Most> {
        match buffer {
            Buffer::Static(fabric::Depth::Bytes(bytes)) => Some(Most::Bytes(*bytes)),
            Buffer::Static(fabric::Depth::Packets(packets)) => Some(Most::Packets(*packets)),
            Buffer::Shared { size, .. } => Some(Most::Shared(size.get())),
            Buffer::Voq { size, cap, .. } => Some(Most::Shared(size.get().min(cap.get()))),
            Buffer::Cells(_) => None,
        }
    }
}

/// A threshold that lies above the memory is never reached. Bytes are not compared with packets.
fn threshold(queue: &Queue, most: Most, path: &str) -> Result<(), Problem> {
    let (field, depth) = match queue {
        Queue::Step { threshold } => ("threshold", threshold),
        Queue::Red { min, .. } => ("min", min),
        Queue::TailDrop {} | Queue::Codel { .. } => return Ok(()),
    };
    let (asked, room, unit) = match (depth, most) {
        (Depth::Bytes(asked), Most::Bytes(room) | Most::Shared(room)) => (*asked, room, "B"),
        (Depth::Packets(asked), Most::Packets(room)) => (*asked, room, "packets"),
        _ => return Ok(()),
    };
    if asked <= room {
        return Ok(());
    }
    let message = format!("{asked} {unit}: above the buffer of {room} {unit}, so that no queue reaches it");
    Err(Problem::new(format!("{path}.{field}"), message))
}
