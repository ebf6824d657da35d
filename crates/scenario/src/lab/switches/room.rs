//! Whether a switch's memory has room for what its settings speak of: a packet, a marking threshold.

use super::pfc::Way;
use fabric::{Buffer, CellsConfig, Depth, Queue, RedConfig, SwitchConfig};
use units::{Bytes, Problem};

/// Refuses memory that no packet fits into, and thresholds that no queue can reach. Hosts send packets of up
/// to `sent` bytes, the smallest of them.
pub(super) fn check(config: &SwitchConfig, links: &[Way], sent: u64) -> Result<(), Problem> {
    let mtus = links.iter().map(|(into, _)| u64::from(into.mtu));
    // What comes in by the smallest MTU may come in by any.
    let (packet, largest) = (mtus.clone().min().unwrap_or_default(), mtus.max().unwrap_or_default());
    if let Buffer::Cells(cells) = &config.buffer {
        return of_cells(cells, packet.min(sent));
    }
    let pool = config.buffer.pool(links.len() as u64, config.scheduler.classes() as u64);
    let Some(most) = Most::of(&config.buffer, pool) else { return Ok(()) };
    let (bytes, packet, which) = match most {
        Most::Shared(bytes) => (bytes, packet, "the MTU of its links"),
        Most::Bytes(bytes) if bytes > 0 => (bytes, packet.min(sent), "the MTU of hosts"),
        // A port without memory is one where nobody waits.
        Most::Bytes(_) | Most::Packets(_) => (packet, packet, ""),
    };
    if bytes < packet {
        let message = format!("{bytes} B: a packet of {packet} B, {which}, does not fit");
        return Err(Problem::new("buffer", message));
    }
    if config.pfc.is_none() {
        admits(config, links.len() as u64, packet.min(sent))?;
    }
    // A lossless class may hold more than its share of the memory.
    let share = if config.pfc.is_some() { most } else { most.of_one_queue(&config.buffer, pool, largest) };
    threshold(&config.queue, share, largest).map_err(|problem| problem.within("queue"))?;
    config.class_queues.iter().enumerate().try_for_each(|(index, (_, queue))| {
        threshold(queue, share, largest).map_err(|problem| problem.within(("class_queues", index)))
    })
}

/// Refuses dynamic thresholds so low, or cells so large, that an empty queue of empty memory takes no packet.
fn admits(config: &SwitchConfig, ports: u64, packet: u64) -> Result<(), Problem> {
    let Buffer::Shared { size, alpha, reserve, cell } = &config.buffer else { return Ok(()) };
    let (reserve, cell) = (reserve.get(), cell.get().max(1));
    let reserved = reserve.saturating_mul(ports * config.scheduler.classes() as u64);
    let shared = size.get().saturating_sub(reserved);
    let most = reserve.saturating_add((alpha.min(1.0) * shared as f64) as u64);
    let takes = packet.div_ceil(cell).saturating_mul(cell);
    if takes <= most {
        return Ok(());
    }
    let message = format!(
        "a packet of {packet} B, the MTU of hosts, takes {takes} B, and an empty queue may hold {most} B at most"
    );
    Err(Problem::new("buffer", message))
}

/// Refuses a port that can't hold the cells of a packet but for one, which the transmitter has: two packets
/// that come at the same time would never both get through.
fn of_cells(config: &CellsConfig, packet: u64) -> Result<(), Problem> {
    let cells = config.cells(u16::try_from(packet).unwrap_or(u16::MAX));
    if cells <= config.limit.saturating_add(1) {
        return Ok(());
    }
    let message = format!(
        "{}: a packet of {packet} B, the MTU of hosts, is {cells} cells, of which at least {} have to wait",
        config.limit,
        cells - 1
    );
    Err(Problem::new(["buffer", "limit"], message))
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
    /// Nothing where cells are counted: no threshold speaks of them.
    fn of(buffer: &Buffer, pool: Option<(Bytes, Bytes)>) -> Option<Most> {
        match (buffer, pool) {
            (Buffer::Static { limit: Depth::Bytes(bytes) }, _) => Some(Most::Bytes(*bytes)),
            (Buffer::Static { limit: Depth::Packets(packets) }, _) => Some(Most::Packets(*packets)),
            (Buffer::Voq { cap, .. }, Some((size, _))) => Some(Most::Shared(size.min(*cap).get())),
            (_, pool) => pool.map(|(size, _)| Most::Shared(size.get())),
        }
    }

    /// What dynamic thresholds leave one queue when all others are empty, and a packet more: it is let in
    /// where there is room for a part of it.
    fn of_one_queue(self, buffer: &Buffer, pool: Option<(Bytes, Bytes)>, packet: u64) -> Most {
        let (Buffer::Shared { alpha, .. } | Buffer::Voq { alpha, .. }, Some((size, reserve))) =
            (buffer, pool)
        else {
            return self;
        };
        let dynamic = (alpha / (1.0 + alpha) * size.get() as f64) as u64;
        match self {
            Most::Shared(bytes) => Most::Shared(bytes.min(reserve.get() + dynamic + packet)),
            other => other,
        }
    }
}

/// IPv4 and UDP headers: no packet has fewer bytes.
const PACKET_LEAST: u64 = 28;

/// A threshold that lies above the memory is never reached, however large or small packets are, up to
/// `largest` bytes.
fn threshold(queue: &Queue, most: Most, largest: u64) -> Result<(), Problem> {
    match queue {
        Queue::Step { threshold } => below(*threshold, most, largest, "threshold"),
        Queue::Red(RedConfig { min, max, .. }) => [("min", min), ("max", max)]
            .into_iter()
            .try_for_each(|(field, depth)| below(*depth, most, largest, field)),
        Queue::TailDrop {} | Queue::Codel(_) => Ok(()),
    }
}

fn below(depth: Depth, most: Most, largest: u64, field: &'static str) -> Result<(), Problem> {
    let (asked, room, unit) = match (depth, most) {
        (Depth::Bytes(asked), Most::Bytes(room) | Most::Shared(room)) => (asked, room, "B"),
        (Depth::Bytes(asked), Most::Packets(packets)) => (asked, packets.saturating_mul(largest), "B"),
        (Depth::Packets(asked), Most::Packets(room)) => (asked, room, "packets"),
        (Depth::Packets(asked), Most::Bytes(room) | Most::Shared(room)) => {
            (asked, room / PACKET_LEAST, "packets")
        }
    };
    if asked <= room {
        return Ok(());
    }
    let message = format!(
        "{asked} {unit}: above the buffer, of which a queue holds at most {room} {unit}: none reaches it"
    );
    Err(Problem::new(field, message))
}
