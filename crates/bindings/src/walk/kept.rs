//! Finished walks of a server: in memory, where Python finds them, and in a journal on disk, where the server
//! that is started after a crash does.
//!
//! The journal is appended to; when it is long, and ends take less, it begins again with a snapshot. It
//! outlives the process, not the machine: nothing is forced to the disk.

use crate::hold;
use ::walk::app::Tally;
use ::walk::journal::{Batch, sound};
use ::walk::ledger::Ledger;
use ::walk::sink::{FinishedWalk, Sink};
use ::walk::store::{Store, decode};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of walks that wait for the disk at most.
const BATCH_BYTES: usize = 64 << 10;
/// Shorter journals are left as they are.
const SHORT_BYTES: u64 = 64 << 20;

/// Finished walks.
#[derive(Default)]
pub(super) struct Kept {
    pub paths: bool,
    pub ends: Tally,
    pub starts: Vec<u32>,
    pub numbers: Vec<u32>,
    pub nodes: Vec<u32>,
    pub path_ends: Vec<u64>,
    journal: Option<Journal>,
}

impl Kept {
    pub(super) fn new(paths: bool) -> Kept {
        Kept { paths, ..Kept::default() }
    }

    fn add(&mut self, walk: &FinishedWalk<'_>) {
        if !self.paths {
            return self.ends.add(walk.start, walk.end);
        }
        self.starts.push(walk.start);
        self.numbers.push(walk.number);
        self.nodes.extend_from_slice(walk.path);
        let end = self.nodes.len() as u64;
        self.path_ends.push(end);
    }
}

/// The same for the server that fills it, its store, and Python.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Kept>>);

impl Shared {
    pub(super) fn new(paths: bool) -> Shared {
        Shared(Arc::new(Mutex::new(Kept::new(paths))))
    }

    pub(super) fn hold(&self) -> MutexGuard<'_, Kept> {
        hold(&self.0)
    }
}

impl Sink for Shared {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        let mut kept = self.hold();
        kept.add(walk);
        if let Some(journal) = &mut kept.journal {
            journal.add(walk);
        }
    }

    fn recall(&mut self, walk: &FinishedWalk<'_>) {
        self.hold().add(walk);
    }

    fn save(&self, out: &mut Vec<u8>) {
        let mut kept = self.hold();
        for start in kept.ends.starts() {
            for (node, count) in kept.ends.of(start) {
                out.extend(start.to_le_bytes());
                out.extend(node.to_le_bytes());
                out.extend(count.to_le_bytes());
            }
        }
    }

    fn restore(&mut self, state: Option<&[u8]>) -> bool {
        let mut kept = self.hold();
        *kept = Kept { paths: kept.paths, journal: kept.journal.take(), ..Kept::default() };
        let (rows, rest) = state.unwrap_or_default().as_chunks::<16>();
        let word =
            |row: &[u8; 16], at: usize| u32::from_le_bytes(*row[at..].first_chunk().expect("sixteen bytes"));
        let counted = rows.iter().map(|row| {
            let pair = u64::from(word(row, 0)) << 32 | u64::from(word(row, 4));
            (pair, u64::from_le_bytes(*row.last_chunk().expect("sixteen bytes")))
        });
        kept.ends = Tally::counted(counted.collect());
        rest.is_empty()
    }
}

/// A journal in a file.
struct Journal {
    file: File,
    place: PathBuf,
    batch: Batch,
    /// Its length.
    bytes: u64,
    /// Of these, the snapshot that it begins with.
    snapshot: u64,
    /// Why nothing more is written.
    failed: Option<io::Error>,
}

impl Journal {
    /// The journal at `place`, to be appended to; what was torn is cut off. And what is in it.
    fn open(place: &Path, paths: bool) -> io::Result<(Journal, Vec<u8>)> {
        let mut found = fs::read(place).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(Vec::new()),
            _ => Err(error),
        })?;
        found.truncate(sound(&found));
        let file = OpenOptions::new().create(true).append(true).open(place)?;
        file.set_len(found.len() as u64)?;
        let (place, batch, bytes) = (place.to_path_buf(), Batch::new(paths), found.len() as u64);
        Ok((Journal { file, place, batch, bytes, snapshot: 0, failed: None }, found))
    }

    #[inline]
    fn add(&mut self, walk: &FinishedWalk<'_>) {
        if self.failed.is_none() && self.batch.add(walk) >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let (file, bytes) = (&mut self.file, &mut self.bytes);
        let written = self.batch.take(|record| {
            *bytes += record.len() as u64;
            file.write_all(record)
        });
        self.failed = written.and_then(Result::err);
    }

    /// Whether it is long, and most of it is not the snapshot that it began with.
    fn is_long(&self) -> bool {
        self.bytes > SHORT_BYTES.max(2 * self.snapshot)
    }

    /// Begins again with a snapshot: whole, or not at all.
    fn begin_with(&mut self, snapshot: &[u8]) -> io::Result<()> {
        let beside = self.place.with_extension("new");
        fs::write(&beside, snapshot)?;
        self.file = OpenOptions::new().append(true).open(&beside)?;
        fs::rename(&beside, &self.place)?;
        self.snapshot = snapshot.len() as u64;
        self.bytes = self.snapshot;
        Ok(())
    }
}

/// The journal of a server at a place on disk.
pub(super) struct Disk {
    place: PathBuf,
    /// Lives of the server before this one.
    lives: u16,
    kept: Shared,
    /// There is no journal, and nobody has been told.
    refused: bool,
}

impl Disk {
    pub(super) fn new(place: PathBuf, lives: u16, kept: Shared) -> Disk {
        Disk { place, lives, kept, refused: false }
    }
}

impl Store for Disk {
    fn save(&mut self, snapshot: &dyn Fn() -> Vec<u8>) -> bool {
        let mut kept = self.kept.hold();
        let paths = kept.paths;
        let Some(mut journal) = kept.journal.take() else { return !std::mem::take(&mut self.refused) };
        // The snapshot takes the walks out of the same place.
        drop(kept);
        if journal.failed.is_none() {
            journal.flush();
        }
        // A snapshot of paths is no shorter.
        if journal.failed.is_none() && !paths && journal.is_long() {
            journal.failed = journal.begin_with(&snapshot()).err();
        }
        let sound = journal.failed.is_none();
        // Without it the walks go on: what is not kept is walked again, should it come to that.
        self.kept.hold().journal = sound.then_some(journal);
        sound
    }

    fn load(&mut self) -> Option<Vec<u8>> {
        let mut kept = self.kept.hold();
        let opened = Journal::open(&self.place, kept.paths);
        self.refused = opened.is_err();
        let (journal, found) = opened.ok()?;
        kept.journal = Some(journal);
        (!found.is_empty()).then_some(found)
    }

    fn lives(&self) -> u16 {
        self.lives
    }
}

/// What a server that is gone for good has left in its journal.
///
/// # Errors
/// When it can't be read, or is of another job.
pub(super) fn left(place: &Path, starts: Vec<u32>, walks: u32, paths: bool) -> Result<Shared, String> {
    let found = fs::read(place).map_err(|error| error.to_string())?;
    let mut kept = Shared::new(paths);
    let mut ledger = Ledger::new(starts, walks, u16::MAX, true);
    decode(&found, &mut ledger, &mut kept).map_err(|error| error.to_string())?;
    Ok(kept)
}
