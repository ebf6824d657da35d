//! Where a host keeps the file's chunks: the interface of a store, and a store without content for
//! simulations.

use super::chunks::Chunks;
use super::set::ChunkSet;
use process::Payload;

/// BLAKE3 of a chunk, or over those of all chunks (`root`).
pub type Hash = [u8; 32];

/// Why a store can't: in words, with the file and what the system says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// The chunks that a host has.
pub trait Store: Send {
    /// Whether a chunk is there, whole.
    fn have(&self, chunk: u32) -> bool;
    /// A chunk that is there, and its hash. A source's file that is not what it was when the chunk was first
    /// read is an error.
    ///
    /// # Errors
    /// It can't be read.
    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError>;
    /// Keeps a chunk, in pieces in order, whose hash has been checked.
    ///
    /// # Errors
    /// It can't be written: the disk is full.
    fn write(&mut self, chunk: u32, pieces: &[Payload], hash: &Hash) -> Result<(), StoreError>;
    /// The hash of a chunk that came, in pieces in order.
    fn hash_of(&self, pieces: &[Payload]) -> Hash {
        hash(pieces)
    }
    /// The hash of a chunk that is there.
    ///
    /// # Errors
    /// It has to be read for that, and can't be.
    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError>;
    /// Forgets a chunk that has turned out to be damaged.
    fn forget(&mut self, chunk: u32);
    /// Whether there is content that was here before: it may be what is sent, or a part of it.
    fn offers(&self) -> bool {
        false
    }
    /// Whether a chunk of that has this hash, which is the source's.
    ///
    /// # Errors
    /// It can't be read.
    fn is_same(&mut self, chunk: u32, hash: &Hash) -> Result<bool, StoreError> {
        let _ = (chunk, hash);
        Ok(false)
    }
    /// All of that was compared: these chunks are the source's, and are there from now on.
    ///
    /// # Errors
    /// It is not what is sent, and must not be replaced; or a copy can't be begun.
    fn adopt(&mut self, same: &ChunkSet) -> Result<(), StoreError> {
        let _ = same;
        Ok(())
    }
    /// All chunks are there and are those of the source: the file may take its name. At a source: the file is
    /// still what it was. Called once.
    ///
    /// # Errors
    /// It can't.
    fn complete(&mut self) -> Result<(), StoreError>;
}

/// The hash of pieces of a chunk. Content that is a length only has a hash of zeros: on sockets nothing comes
/// as such.
#[must_use]
pub fn hash(pieces: &[Payload]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        match piece {
            Payload::Data(bytes) => hasher.update(bytes),
            Payload::Zeros(_) => return [0; 32],
        };
    }
    hasher.finalize().into()
}

/// The hash over the hashes of all chunks.
///
/// # Errors
/// A chunk can't be read.
pub fn root(store: &mut dyn Store, chunks: u32) -> Result<Hash, StoreError> {
    let mut hasher = blake3::Hasher::new();
    for chunk in 0..chunks {
        hasher.update(&store.hash(chunk)?);
    }
    Ok(hasher.finalize().into())
}

/// A store of lengths, whose hashes are zeros: the simulator's, and that of a scenario's jobs on sockets.
#[derive(Clone, Debug)]
pub struct Lengths {
    chunks: Chunks,
    have: ChunkSet,
}

impl Lengths {
    /// With all chunks, or none.
    #[must_use]
    pub fn new(chunks: Chunks, full: bool) -> Lengths {
        let have = if full { ChunkSet::full(chunks.count()) } else { ChunkSet::default() };
        Lengths { chunks, have }
    }
}

impl Store for Lengths {
    fn have(&self, chunk: u32) -> bool {
        self.have.contains(chunk)
    }
    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        Ok((Payload::Zeros(self.chunks.len(chunk)), [0; 32]))
    }
    fn write(&mut self, chunk: u32, _: &[Payload], _: &Hash) -> Result<(), StoreError> {
        self.have.insert(chunk);
        Ok(())
    }
    fn hash_of(&self, _: &[Payload]) -> Hash {
        [0; 32]
    }
    fn hash(&mut self, _: u32) -> Result<Hash, StoreError> {
        Ok([0; 32])
    }
    fn forget(&mut self, chunk: u32) {
        self.have.remove(chunk);
    }
    fn complete(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}
