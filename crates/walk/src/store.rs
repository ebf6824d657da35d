//! What a source needs after a restart, kept by its driver: a journal ([`crate::journal`]), of which a
//! snapshot is the shortest.
//!
//! The walks that it doesn't know of are walked again, with the same result: each has a random stream of its
//! own.

use crate::journal::{self, Kind};
use crate::ledger::{Ledger, SnapshotError};
use crate::sink::Sink;

/// Keeps the journal of one source.
pub trait Store: Send {
    /// It is time to keep what is finished: `snapshot` writes all of it down. A store that appends what comes
    /// meanwhile need not ask for it. Returns false when it could not.
    fn save(&mut self, snapshot: &dyn Fn() -> Vec<u8>) -> bool;
    /// The journal, if there is one.
    fn load(&mut self) -> Option<Vec<u8>>;
    /// Lives of the source before this process: its walkers may still be on their way.
    fn lives(&self) -> u16 {
        0
    }
}

/// Keeps it in memory: enough for hosts whose crash is simulated.
#[derive(Clone, Debug, Default)]
pub struct Memory(Option<Vec<u8>>);

impl Store for Memory {
    fn save(&mut self, snapshot: &dyn Fn() -> Vec<u8>) -> bool {
        self.0 = Some(snapshot());
        true
    }

    fn load(&mut self) -> Option<Vec<u8>> {
        self.0.clone()
    }
}

/// The snapshot of a source in its `epoch`-th life.
pub(crate) fn encode(epoch: u16, ledger: &Ledger, sink: &dyn Sink) -> Vec<u8> {
    journal::snapshot(|out| {
        out.extend(epoch.to_le_bytes());
        ledger.save(out);
        sink.save(out);
    })
}

/// Takes a journal over, as far as it can be read; returns the life that wrote its snapshot, 0 without one.
///
/// # Errors
/// When nothing of it can be read, or it is of another job: then `ledger` is as it was, and `sink` is to be
/// emptied.
pub fn decode(journal: &[u8], ledger: &mut Ledger, sink: &mut dyn Sink) -> Result<u16, SnapshotError> {
    let mut restored = ledger.clone();
    let (mut rest, mut epoch) = (journal, 0);
    match journal::next(journal) {
        None => return if journal.is_empty() { Ok(0) } else { Err(SnapshotError::Damaged) },
        Some((Kind::Snapshot, content, behind)) => {
            let (life, content) = content.split_first_chunk::<2>().ok_or(SnapshotError::Damaged)?;
            let state = restored.restore(content)?;
            if !sink.restore(Some(state)) {
                return Err(SnapshotError::Damaged);
            }
            (rest, epoch) = (behind, u16::from_le_bytes(*life));
        }
        Some(_) => _ = sink.restore(None),
    }
    while let Some((kind, content, behind)) = journal::next(rest) {
        let mut known = kind != Kind::Snapshot;
        let whole = known.then(|| {
            journal::walks(kind, content, |walk| {
                let entry = restored.entry(walk.start, walk.number);
                known &= entry.is_some();
                if entry.is_some_and(|entry| restored.recall(entry)) {
                    sink.recall(walk);
                }
            })
        });
        if !known || whole.flatten().is_none() {
            return Err(SnapshotError::Other("it has what no source wrote here".into()));
        }
        rest = behind;
    }
    *ledger = restored;
    Ok(epoch)
}
