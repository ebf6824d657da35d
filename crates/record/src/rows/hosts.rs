//! Hosts, and what happened to the cluster.

use super::table;
use crate::column::{Column, ColumnData, Nullable, Text, U64};
use crate::table::Columns;

table! {
    /// A host.
    "hosts": Host, Hosts {
        /// Its name.
        host: Text,
        /// IP bytes sent.
        sent_bytes: U64,
        /// IP bytes that arrived intact, while the host was up.
        received_bytes: U64,
        /// Packets that it could not send, because no route led to their destination. `flows` and `datagrams`
        /// count them as sent; ports do not. Missing on sockets.
        drops_no_route: Nullable<U64>,
        /// Packets that arrived while it was down, or waited in it when it crashed. Missing on sockets.
        drops_down: Nullable<U64>,
        /// Datagrams that arrived for a port that no process had bound.
        drops_no_port: U64,
        /// Packets to itself that its loopback dropped, because they were larger than the host's MTU. No port
        /// counts them. Missing on sockets.
        drops_loopback: Nullable<U64>,
        /// Segments sent again.
        retransmits: U64,
        /// Their data in bytes.
        retransmitted_bytes: U64,
        /// Retransmission timeouts.
        timeouts: U64,
        /// Computing time, summed over its cores.
        core_busy_ps: U64,
        /// Time during which its disk was busy.
        disk_busy_ps: U64,
        /// Its crashes.
        crashes: U64,
    }
}

table! {
    /// A sample of a host; counters count since the previous sample.
    "hosts_series": HostSample, HostsSeries {
        /// When.
        time_ps: U64,
        /// Its name.
        host: Text,
        /// IP bytes sent.
        sent_bytes: U64,
        /// IP bytes that arrived intact, while the host was up.
        received_bytes: U64,
        /// Computing time, summed over its cores.
        core_busy_ps: U64,
        /// Time during which its disk was busy.
        disk_busy_ps: U64,
    }
}

table! {
    /// An event in the cluster: a fault that was applied, or a PFC storm or deadlock that was found. Drops of
    /// packets are counted, not listed.
    "events": Event, Events {
        /// When.
        time_ps: U64,
        /// What happened, in the scenario's words (`link-down`).
        what: Text,
        /// Host, or link as `a:b`.
        where_: Text,
    }
}
