//! The rows of every table of a run folder. A field is a column of the same name (without a trailing
//! underscore), its unit is the suffix: `_ps` picoseconds, `_bytes`, `_bps` bits a second.
//!
//! Names of jobs, hosts and ports are given as text and written as a dictionary.

mod broadcasts;
mod flows;
mod hosts;
mod jobs;
mod memory;
mod mining;
mod pauses;
mod ports;
mod walks;

use crate::error::Error;
use crate::table::{Columns, Table};
use std::path::Path;

pub use broadcasts::*;
pub use flows::*;
pub use hosts::*;
pub use jobs::*;
pub use memory::*;
pub use mining::*;
pub use pauses::*;
pub use ports::*;
pub use walks::*;

/// A closed set of words: each variant and how it is written.
macro_rules! labels {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$word_doc:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $variant,)*
        }

        impl Label for $name {
            fn word(&self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

use labels;

/// A row, its columns and the table's name from one list.
macro_rules! table {
    ($(#[$doc:meta])* $table:literal: $row:ident, $columns:ident {
        $($(#[$field_doc:meta])* $field:ident: $column:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row<'a> {
            $($(#[$field_doc])* pub $field: <$column as Column>::Cell<'a>,)*
        }

        #[doc = concat!("Columns of the table `", $table, "`.")]
        #[derive(Debug, Default)]
        pub struct $columns {
            $(pub(crate) $field: $column,)*
        }

        impl Columns for $columns {
            const TABLE: &'static str = $table;
            type Row<'a> = $row<'a>;
            fn push(&mut self, row: $row<'_>) {
                $(self.$field.push(row.$field);)*
            }
            fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)> {
                vec![$((stringify!($field).trim_end_matches('_'), &self.$field),)*]
            }
            fn clear(&mut self) {
                $(self.$field.clear();)*
            }
        }
    };
}

use table;

macro_rules! tables {
    ($($(#[$doc:meta])* $field:ident: $columns:ty,)*) => {
        /// Every table of a run. Each can be pushed to on its own; all are written by [`Tables::finish`].
        #[derive(Debug)]
        pub struct Tables {
            $($(#[$doc])* pub $field: Table<$columns>,)*
        }

        impl Tables {
            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$(<$columns>::TABLE,)*];

            pub(crate) fn new(run: &Path, part_rows: usize) -> Tables {
                Tables { $($field: Table::new(run, part_rows),)* }
            }

            /// Writes what waits, small tables first, so that a disk that is nearly full takes as many
            /// tables as possible. All are tried.
            ///
            /// # Errors
            /// The first failure.
            pub fn finish(mut self) -> Result<(), Error> {
                let mut result = Ok(());
                $(result = result.and(self.$field.finish());)*
                result
            }
        }
    };
}

tables! {
    /// Jobs.
    jobs: Jobs,
    /// Hosts.
    hosts: Hosts,
    /// Ports.
    ports: Ports,
    /// Events.
    events: Events,
    /// Datagrams.
    datagrams: DatagramTotals,
    /// Tasks.
    tasks: Tasks,
    /// Waiting times.
    waits: Waits,
    /// Pauses.
    pauses: Pauses,
    /// Pauses by cause.
    pause_causes: PausesByCause,
    /// Queues of classes.
    queues: Queues,
    /// Shared memory of switches.
    pools: Pools,
    /// Ways of ECMP.
    ways: EcmpWays,
    /// Flows.
    flows: Flows,
    /// Remote procedure calls.
    calls: Calls,
    /// Commands on emulated hosts.
    commands: Commands,
    /// Random walks at servers.
    walks: Walks,
    /// Hosts of broadcasts.
    broadcasts: Broadcasts,
    /// Passes of mining.
    passes: MinePasses,
    /// Programs on remote memory.
    programs: RemotePrograms,
    /// Page faults.
    faults: PageFaults,
    /// Samples of hosts.
    hosts_series: HostsSeries,
    /// Samples of servers of random walks.
    walks_series: WalksSeries,
    /// Samples of hosts of broadcasts.
    broadcasts_series: BroadcastsSeries,
    /// Samples of shared memory.
    pools_series: PoolsSeries,
    /// Samples of PFC.
    pauses_series: PausesSeries,
    /// Samples of queues of classes.
    queues_series: QueuesSeries,
    /// Samples of ports.
    ports_series: PortsSeries,
    /// Samples of flows.
    flows_series: FlowsSeries,
}
