//! Snapshots of a source: what it needs after a restart, kept by whoever drives it.
//!
//! A snapshot is versioned and ends with a checksum. The walks that it doesn't know of are walked again, with the same
//! result: each has a random stream of its own.

use crate::ledger::{Ledger, SnapshotError};
use crate::sink::Sink;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;

const MAGIC: [u8; 4] = *b"RWS1";

/// Keeps the last snapshot of one source.
pub trait Store: Send {
    /// Keeps `snapshot` in place of the one before: whole, or not at all.
    fn save(&mut self, snapshot: Vec<u8>);
    /// The last one, if there is one.
    fn load(&mut self) -> Option<Vec<u8>>;
}

/// Keeps it in memory: enough for hosts whose crash is simulated.
#[derive(Clone, Debug, Default)]
pub struct Memory(Option<Vec<u8>>);

impl Store for Memory {
    fn save(&mut self, snapshot: Vec<u8>) {
        self.0 = Some(snapshot);
    }

    fn load(&mut self) -> Option<Vec<u8>> {
        self.0.clone()
    }
}

/// The snapshot of a source in its `epoch`-th life.
pub(crate) fn encode(epoch: u16, ledger: &Ledger, sink: &dyn Sink) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(epoch.to_le_bytes());
    ledger.save(&mut out);
    sink.save(&mut out);
    let sum = checksum(&out);
    out.extend(sum);
    out
}

/// Takes a snapshot over; returns the life that wrote it.
pub(crate) fn decode(bytes: &[u8], ledger: &mut Ledger, sink: &mut dyn Sink) -> Result<u16, SnapshotError> {
    let (bytes, sum) = bytes.split_last_chunk::<8>().ok_or(SnapshotError::Damaged)?;
    if checksum(bytes) != *sum {
        return Err(SnapshotError::Damaged);
    }
    let rest = bytes.strip_prefix(&MAGIC).ok_or(SnapshotError::Damaged)?;
    let (epoch, rest) = rest.split_first_chunk::<2>().ok_or(SnapshotError::Damaged)?;
    let mut restored = ledger.clone();
    let rest = restored.restore(rest)?;
    if !sink.restore(Some(rest)) {
        return Err(SnapshotError::Damaged);
    }
    *ledger = restored;
    Ok(u16::from_le_bytes(*epoch))
}

/// Against damage, not against people.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}
