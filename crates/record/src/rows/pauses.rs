//! Priority-based flow control.

use super::{labels, table};
use crate::column::{Column, ColumnData, Label, Labels, Nullable, Text, U8, U64};
use crate::table::Columns;

labels! {
    /// Why a port asks its peer to pause.
    PauseCause {
        /// What had come from the peer waited at a port that was sending.
        Congested = "congested",
        /// It waited at a port that was paused itself.
        Paused = "paused",
        /// A broken host asks for it.
        Storm = "storm",
    }
}

table! {
    /// Priority-based flow control of a port in one lossless class.
    "pauses": Pause, Pauses {
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// PAUSE frames sent that ask for a pause or renew one.
        xoff_sent: U64,
        /// PAUSE frames sent that end a pause.
        xon_sent: U64,
        /// PAUSE frames received that ask for a pause or renew one.
        xoff_received: U64,
        /// PAUSE frames received that end a pause.
        xon_received: U64,
        /// Time during which the peer had paused the class.
        paused_ps: U64,
        /// Most memory held by packets that arrived at the port (switches).
        held_max_bytes: U64,
        /// Most headroom that they took.
        headroom_max_bytes: U64,
        /// Storms that the watchdog found.
        storms: U64,
        /// Storms that it found to be over.
        restored: U64,
        /// Packets that it discarded.
        storm_drops: U64,
    }
}

table! {
    /// A sample of PFC at a port in a lossless class; counters count since the previous sample. Rows begin
    /// when something was held or paused.
    "pauses_series": PauseSample, PausesSeries {
        /// When.
        time_ps: U64,
        /// `node:peer`.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// Memory held now by packets that arrived at the port (switches).
        held_bytes: U64,
        /// Watermark: the most since the previous sample.
        held_max_bytes: U64,
        /// Headroom that they take now.
        headroom_bytes: U64,
        /// Watermark: the most headroom since the previous sample.
        headroom_max_bytes: U64,
        /// PAUSE frames sent that ask for a pause or renew one.
        xoff_sent: U64,
        /// Time during which the peer had paused the class.
        paused_ps: U64,
    }
}

table! {
    /// Pauses with one cause, where `measure.interval` is set. A pause lasts from XOFF to XON at the port
    /// that asks for it.
    "pause_causes": PauseCauses, PausesByCause {
        /// The port that asks for pauses: what came in by it crossed XOFF.
        port: Text,
        /// 802.1p class.
        class: U8,
        /// The peer's port that is paused.
        paused: Text,
        /// Why. `congested`: most of the memory was held by packets that waited at `egress`, which was
        /// sending. `paused`: the same, but `egress` was paused itself. `storm`: a broken host asks.
        cause: Labels<PauseCause>,
        /// The port of the switch where most of the memory was held at XOFF; missing in a storm.
        egress: Nullable<Text>,
        /// How many pauses.
        pauses: U64,
        /// Time from XOFF to XON, summed.
        asked_ps: U64,
        /// The longest of these times.
        asked_max_ps: U64,
    }
}
