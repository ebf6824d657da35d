//! What can go wrong while a run is written down, told so that a person knows what is left.

use std::io;
use std::path::{Path, PathBuf};

/// Why a run folder, a table or a capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is something already.
    #[error("{} is not empty: name another folder, or ask for it to be overwritten", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Overwriting was asked for, but no run wrote this.
    #[error("{} is no run folder (it holds no {marker}), so it is not overwritten: name another", path.display())]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
        /// The file that a run folder holds.
        marker: &'static str,
    },
    /// No room on the disk.
    #[error("the disk is full: {} could not be written; {kept}", file.display())]
    DiskFull {
        /// The file that did not fit.
        file: PathBuf,
        /// What can still be read of its contents.
        kept: Kept,
    },
    /// Any other failure of the file system.
    #[error("{} could not be written ({source}); {kept}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What can still be read of its contents.
        kept: Kept,
        /// What the system says.
        source: io::Error,
    },
}

/// What is still readable after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing of this file.
    Nothing,
    /// The finished parts of a table.
    Table {
        /// The table.
        table: &'static str,
        /// Rows that are in finished parts.
        rows: u64,
        /// Rows that are lost.
        lost: u64,
    },
    /// The packets written so far.
    Packets {
        /// Packets in the file.
        packets: u64,
    },
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kept::Nothing => f.write_str("files that were finished before stay readable"),
            Kept::Table { table, rows: 0, lost } => write!(f, "all {lost} rows of table {table} are lost"),
            Kept::Table { table, rows, lost } => {
                write!(f, "the first {rows} rows of table {table} are readable, the last {lost} are lost")
            }
            Kept::Packets { packets } => write!(f, "its first {packets} packets are readable"),
        }
    }
}

impl Error {
    /// Sorts out a full disk from other failures.
    pub(crate) fn io(file: &Path, kept: Kept, source: io::Error) -> Error {
        let file = file.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Error::DiskFull { file, kept }
            }
            _ => Error::Io { file, kept, source },
        }
    }
}
