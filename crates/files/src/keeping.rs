//! A copy in progress as the store of a broadcast, written by a separate thread while the receiver continues.
//!
//! Received chunks wait in memory until they are written, a bounded number of them, and are served from
//! there.

use crate::part::Part;
use crate::store::{Outcome, told};
use broadcast::transfer::{Hash, Store, StoreError};
use process::Payload;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Chunks that may wait; who has one more to write waits too.
const WAITING: usize = 8;

/// What waits to be written, by chunk.
type Waiting = BTreeMap<u32, (Vec<Payload>, Hash)>;

/// What the thread shares with the store.
struct Shared {
    part: Mutex<Part>,
    waiting: Mutex<Waiting>,
    failed: Mutex<Option<StoreError>>,
}

/// A copy in the making, as a store.
pub struct Keeping {
    shared: Arc<Shared>,
    /// Of chunks that are there or wait.
    hashes: Vec<Option<Hash>>,
    writer: Option<(SyncSender<u32>, JoinHandle<()>)>,
    outcome: Outcome,
}

impl Keeping {
    /// Keeps chunks in `part`.
    pub fn new(part: Part) -> Keeping {
        Keeping::with(part, Outcome::default())
    }

    /// The same, and says there that the copy has its name.
    pub(crate) fn with(part: Part, outcome: Outcome) -> Keeping {
        let hashes = (0..part.chunks()).map(|chunk| part.hash(chunk).copied()).collect();
        let shared = Shared { part: Mutex::new(part), waiting: Mutex::default(), failed: Mutex::default() };
        Keeping { shared: Arc::new(shared), hashes, writer: None, outcome }
    }

    /// Where it says that the copy has its name.
    pub fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }

    /// Waits until nothing waits.
    fn settle(&mut self) -> Result<(), StoreError> {
        if let Some((chunks, thread)) = self.writer.take() {
            drop(chunks);
            thread.join().map_err(|_| StoreError("the thread that writes has ended".into()))?;
        }
        lock(&self.shared.failed).clone().map_or(Ok(()), Err)
    }

    fn put(&mut self, chunk: u32) {
        let shared = &self.shared;
        let (chunks, _) = self.writer.get_or_insert_with(|| {
            let (sender, chunks) = sync_channel(WAITING);
            let shared = shared.clone();
            (sender, std::thread::spawn(move || write(&shared, &chunks)))
        });
        // It listens as long as there is this sender.
        let _ = chunks.send(chunk);
    }
}

impl Store for Keeping {
    fn have(&self, chunk: u32) -> bool {
        self.hashes[chunk as usize].is_some()
    }

    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        let hash = Store::hash(self, chunk)?;
        let waits = lock(&self.shared.waiting).get(&chunk).map(|(pieces, _)| pieces.clone());
        let bytes = match waits {
            Some(pieces) => content(&pieces).concat(),
            None => lock(&self.shared.part).read(chunk.into()).map_err(told)?,
        };
        Ok((bytes.into(), hash))
    }

    /// An error may be that of a chunk before.
    fn write(&mut self, chunk: u32, pieces: &[Payload], hash: &Hash) -> Result<(), StoreError> {
        if pieces.iter().any(|piece| matches!(piece, Payload::Zeros(_))) {
            return Err(StoreError("a chunk without content can't be kept".into()));
        }
        lock(&self.shared.failed).clone().map_or(Ok(()), Err)?;
        lock(&self.shared.waiting).insert(chunk, (pieces.to_vec(), *hash));
        self.hashes[chunk as usize] = Some(*hash);
        self.put(chunk);
        Ok(())
    }

    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError> {
        self.hashes[chunk as usize].ok_or_else(|| StoreError(format!("chunk {chunk} is not there")))
    }

    fn forget(&mut self, chunk: u32) {
        // What can't be written is said by the next call that writes.
        let _ = self.settle();
        self.hashes[chunk as usize] = None;
        // A journal that can't be written says too much: that is found when the chunks are read again.
        let _ = lock(&self.shared.part).take_back(chunk.into());
    }

    /// What takes long happens in another thread: the copy goes on to serve others.
    fn complete(&mut self) -> Result<(), StoreError> {
        self.settle()?;
        let finish = lock(&self.shared.part).finish().map_err(told)?;
        self.outcome.clone().follow(finish);
        Ok(())
    }
}

impl Drop for Keeping {
    /// What has come is written: an interrupted copy goes on from there.
    fn drop(&mut self) {
        let _ = self.settle();
    }
}

/// The thread: until the store has no more.
fn write(shared: &Shared, chunks: &Receiver<u32>) {
    for chunk in chunks {
        let Some((pieces, hash)) = lock(&shared.waiting).get(&chunk).cloned() else { continue };
        // After the first that can't be written, the rest is lost too: the store says so.
        if lock(&shared.failed).is_none() {
            let written = lock(&shared.part).write(chunk.into(), &content(&pieces), &hash);
            *lock(&shared.failed) = written.map_err(told).err();
        }
        lock(&shared.waiting).remove(&chunk);
    }
}

fn content(pieces: &[Payload]) -> Vec<&[u8]> {
    let bytes = pieces.iter().map(|piece| match piece {
        Payload::Data(bytes) => &bytes[..],
        Payload::Zeros(_) => &[],
    });
    bytes.collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
