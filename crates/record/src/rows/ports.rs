//! Ports, their queues, the memory that they share, and the ways over them.

use super::{labels, table};
use crate::column::{Column, ColumnData, F64, Label, Labels, Nullable, Text, U8, U64};
use crate::table::Columns;

labels! {
    /// The kind of node that owns the port.
    PortKind {
        /// A host's network interface.
        Host = "host",
        /// A switch's port.
        Switch = "switch",
    }
}

table! {
    /// A port: the sending side of one end of a link.
    "ports": Port, Ports {
        /// `node:peer`, with `#2` for a second parallel link.
        port: Text,
        /// The node that sends.
        node: Text,
        /// The node at the other end.
        peer: Text,
        /// The kind of node that owns the port.
        kind: Labels<PortKind>,
        /// Rate at the end of the run.
        rate_bps: U64,
        /// Packets sent.
        sent_packets: U64,
        /// IP bytes sent.
        sent_bytes: U64,
        /// Bytes sent with framing.
        wire_bytes: U64,
        /// Time during which a packet was being sent.
        busy_ps: U64,
        /// `busy_ps` divided by the length of the run, 0 to 1.
        utilisation: F64,
        /// Packets accepted into the queue.
        enqueued_packets: U64,
        /// Packets that arrived from the peer and were discarded before a queue: no route, bad checksum,
        /// `drops_pool`, `drops_headroom`.
        in_discards: U64,
        /// Packets discarded at egress: all other `drops_`.
        out_discards: U64,
        /// No room in the port's or the queue's share.
        drops_tail: U64,
        /// RED, CoDel or step marking of packets that are not ECN-capable, and RED above its thresholds.
        drops_early: U64,
        /// No room in the shared pool for a packet that arrived here.
        drops_pool: U64,
        /// Larger than the link's MTU.
        drops_mtu: U64,
        /// The link was down.
        drops_down: U64,
        /// Lossless packets that arrived here after XOFF and found the PFC headroom full.
        drops_headroom: U64,
        /// Discarded by the PFC watchdog.
        drops_watchdog: U64,
        /// A cell of the packet found the queue full, or the rest was then rejected (ATM).
        drops_cell: U64,
        /// Added by the receiver to the cells of a packet that had lost its last cell (AAL5).
        drops_merged: U64,
        /// Lost on the link by a fault.
        lost: U64,
        /// Corrupted on the link by a fault.
        corrupted: U64,
        /// Packets marked with congestion experienced.
        marks: U64,
        /// PAUSE frames (PFC) sent to the peer.
        pause_sent: U64,
        /// PAUSE frames received from the peer.
        pause_received: U64,
        /// Time during which the peer had paused at least one class.
        paused_ps: U64,
        /// Longest queue in IP bytes; of cells, 53 bytes each.
        queue_max_bytes: U64,
        /// Longest queue in packets; 0 where cells wait.
        queue_max_packets: U64,
        /// Longest single virtual output queue, in IP bytes; missing without them.
        voq_max_bytes: Nullable<U64>,
        /// Cells that arrived for this port (ATM); missing at other ports.
        cells: Nullable<U64>,
        /// Of these, rejected by the queue.
        cells_dropped: Nullable<U64>,
        /// Most cells that waited at a time.
        queue_max_cells: Nullable<U64>,
        /// IP bytes of fluid (background with `model: fluid`) that it accepted.
        fluid_bytes: U64,
        /// IP bytes of fluid that found no room.
        fluid_lost_bytes: U64,
        /// Median of the time waited in the queue; missing when nothing was sent.
        wait_p50_ps: Nullable<U64>,
        /// 99th percentile of the time waited.
        wait_p99_ps: Nullable<U64>,
        /// 99.9th percentile of the time waited.
        wait_p999_ps: Nullable<U64>,
        /// Longest time waited.
        wait_max_ps: Nullable<U64>,
    }
}

table! {
    /// A sample of a port; counters count since the previous sample.
    "ports_series": PortSample, PortsSeries {
        /// When.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// 802.1p class; missing: all classes together.
        class: Nullable<U8>,
        /// Queue length now, in IP bytes.
        queue_bytes: U64,
        /// Queue length now, in packets.
        queue_packets: U64,
        /// Watermark: the longest queue since the previous sample, in IP bytes.
        queue_max_bytes: U64,
        /// IP bytes sent.
        sent_bytes: U64,
        /// Packets discarded.
        drops: U64,
        /// Of these, at ingress.
        in_discards: U64,
        /// Of these, at egress.
        out_discards: U64,
        /// Packets marked.
        marks: U64,
        /// PAUSE frames (PFC) sent.
        pause_sent: U64,
        /// PAUSE frames received.
        pause_received: U64,
        /// Time during which PFC paused at least one class.
        paused_ps: U64,
    }
}

table! {
    /// Samples of a port in a longer step, in `ports_levels`. A step that two parts share has a row in both.
    "ports_levels": PortLevel, PortsLevels {
        /// Length of the level's steps, from time 0 on.
        step_ps: U64,
        /// When the last of its samples was taken.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// The shortest sampled queue, in IP bytes.
        queue_min_bytes: U64,
        /// The longest sampled queue.
        queue_max_bytes: U64,
        /// IP bytes sent.
        sent_bytes: U64,
        /// Packets discarded.
        drops: U64,
        /// Packets marked.
        marks: U64,
        /// Time during which PFC paused at least one class.
        paused_ps: U64,
    }
}

table! {
    /// A bucket of a port's histogram of waiting times.
    "waits": Wait, Waits {
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Lower bound of the bucket, inclusive.
        from_ps: U64,
        /// Upper bound of the bucket, exclusive.
        to_ps: U64,
        /// Packets whose wait is in the bucket.
        packets: U64,
    }
}

table! {
    /// A way of an ECMP group, where `measure.interval` is set: a port among several that lead to the same
    /// hosts in as few hops. Groups are those of the whole network, before faults.
    "ways": EcmpWay, EcmpWays {
        /// The node that chooses.
        node: Text,
        /// Its groups, from 0.
        group: U64,
        /// `node:peer`; its bytes are in `ports` and `ports_series`.
        port: Text,
        /// Hosts that the group leads to.
        destinations: U64,
    }
}

table! {
    /// The queue of a class at a port that has one for each class.
    "queues": Queue, Queues {
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Longest queue in IP bytes.
        queue_max_bytes: U64,
    }
}

table! {
    /// A sample of the queue of a class. A queue's rows begin when a packet has waited there.
    "queues_series": QueueSample, QueuesSeries {
        /// When.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Queue length now, in IP bytes.
        queue_bytes: U64,
        /// Watermark: the longest queue since the previous sample.
        queue_max_bytes: U64,
    }
}

table! {
    /// The memory that the ports of a switch share.
    "pools": Pool, Pools {
        /// Its name.
        switch: Text,
        /// Shared memory: what reserves and headroom leave.
        size_bytes: U64,
        /// The most of it that was in use, in whole cells.
        used_max_bytes: U64,
        /// Memory set aside as headroom of PFC.
        headroom_size_bytes: U64,
        /// The most of it that was in use.
        headroom_max_bytes: U64,
    }
}

table! {
    /// A sample of the memory that the ports of a switch share.
    "pools_series": PoolSample, PoolsSeries {
        /// When.
        time_ps: U64,
        /// The switch.
        switch: Text,
        /// Shared memory in use now.
        used_bytes: U64,
        /// Watermark: the most in use since the previous sample.
        used_max_bytes: U64,
        /// Headroom of PFC in use now.
        headroom_bytes: U64,
        /// Watermark: the most headroom in use since the previous sample.
        headroom_max_bytes: U64,
    }
}
