//! Flows, calls and datagrams.

use super::{labels, table};
use crate::column::{Column, ColumnData, Label, Labels, Nullable, Text, U8, U64};
use crate::table::Columns;

labels! {
    /// How a flow ended.
    Outcome {
        /// All bytes were read by the receiver.
        Finished = "finished",
        /// The receiver did not listen.
        Refused = "refused",
        /// One end aborted.
        Reset = "reset",
        /// Retransmissions were given up.
        TimedOut = "timed-out",
        /// The run ended first.
        Unfinished = "unfinished",
    }
}

labels! {
    /// How a remote procedure call ended.
    CallOutcome {
        /// All replies came in time.
        Finished = "finished",
        /// All replies came, the last of them after the deadline.
        Late = "late",
        /// A connection broke, or the client's host crashed.
        Failed = "failed",
        /// The run ended first.
        Unfinished = "unfinished",
    }
}

table! {
    /// A flow: a stream, `from` the host that sent most of its data.
    "flows": Flow, Flows {
        /// Its number in the run, from 0.
        flow: U64,
        /// The job that opened it.
        job: Text,
        /// Ties flows together: a coflow, a round.
        group: U64,
        /// Sending host.
        from: Text,
        /// Receiving host.
        to: Text,
        /// 802.1p class.
        class: U8,
        /// Bytes of data delivered, in both directions.
        bytes: U64,
        /// When it was opened.
        start_ps: U64,
        /// When the receiver read the last byte; missing when it never did.
        end_ps: Nullable<U64>,
        /// Packets with data sent, retransmissions included; neither acknowledgements nor SYN and FIN alone.
        /// On sockets, sent and received packets as the opening host's kernel counts them.
        sent_packets: U64,
        /// Bytes of these packets with their IP and TCP headers; on sockets without.
        sent_bytes: U64,
        /// Segments sent again, SYN and FIN included.
        retransmits: U64,
        /// Retransmission timeouts.
        timeouts: U64,
        /// Entries into fast recovery.
        fast_recoveries: U64,
        /// Tail loss probes sent.
        tail_loss_probes: U64,
        /// Acknowledgements with ECN-Echo that arrived at either end.
        ece_acks: U64,
        /// Least round-trip time; missing without a sample.
        min_rtt_ps: Nullable<U64>,
        /// Smoothed round-trip time at the end; missing without a sample.
        srtt_ps: Nullable<U64>,
        /// How it ended.
        outcome: Labels<Outcome>,
        /// The ports that its data crossed, in order, separated by spaces; after a link has failed, those of
        /// its last path. Missing if there was no path, or none is known.
        path: Nullable<Text>,
        /// The same for its acknowledgements.
        path_back: Nullable<Text>,
    }
}

table! {
    /// A sample of a flow.
    "flows_series": FlowSample, FlowsSeries {
        /// When.
        time_ps: U64,
        /// Its number, as in `flows`.
        flow: U64,
        /// Congestion window now.
        cwnd_bytes: U64,
        /// Sent and not known to have left the network.
        in_flight_bytes: U64,
        /// Smoothed round-trip time; missing without a sample.
        srtt_ps: Nullable<U64>,
        /// Bytes acknowledged since the flow began.
        acked_bytes: U64,
    }
}

table! {
    /// A remote procedure call.
    "calls": Call, Calls {
        /// The job.
        job: Text,
        /// The client.
        host: Text,
        /// Its number among the client's calls, from 0.
        number: U64,
        /// When it began.
        start_ps: U64,
        /// When its last reply was complete, or its last connection broke; missing if it was in progress at
        /// the end of the run.
        end_ps: Nullable<U64>,
        /// Bytes of its requests, and of the replies that came.
        bytes: U64,
        /// How it ended. `late`: after its deadline.
        outcome: Labels<CallOutcome>,
    }
}

table! {
    /// Datagrams of a job between two hosts.
    "datagrams": Datagrams, DatagramTotals {
        /// The job.
        job: Text,
        /// Sending host.
        from: Text,
        /// Receiving host.
        to: Text,
        /// Datagrams sent.
        sent_packets: U64,
        /// Their bytes with IP and UDP headers; on sockets without.
        sent_bytes: U64,
        /// Datagrams that a process received.
        received_packets: U64,
        /// Their bytes, as in `sent_bytes`.
        received_bytes: U64,
        /// Datagrams that the sender dropped, because no route led to the receiver. Missing on sockets, as
        /// are the next two. The ports count all others that did not arrive, and `hosts.drops_loopback` those
        /// that a host sent to itself.
        drops_no_route: Nullable<U64>,
        /// Datagrams that arrived while the receiver was down, or waited in it when it crashed.
        drops_down: Nullable<U64>,
        /// Datagrams that arrived for a port that no process had bound.
        drops_no_port: Nullable<U64>,
    }
}
