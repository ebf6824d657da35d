//! Files as stores of a broadcast's chunks: what a source reads, what a receiver keeps.

use crate::part::Part;
use crate::source::Source;
use broadcast::transfer::{Hash, Store, StoreError};
use process::Payload;
use std::sync::{Arc, Mutex, PoisonError};

/// Whether a copy has its final name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Named {
    /// It is not whole.
    #[default]
    NotYet,
    /// It is whole, and on its way to the disk.
    Finishing,
    /// It has it.
    Done,
    /// It can't have it: why.
    Failed(String),
}

/// How far the end of a copy is, shared with who waits for it.
#[derive(Clone, Debug, Default)]
pub struct Outcome(Arc<Mutex<Named>>);

impl Outcome {
    /// How far it is.
    pub fn get(&self) -> Named {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, named: Named) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = named;
    }
}

fn told(error: crate::Error) -> StoreError {
    StoreError(error.to_string())
}

impl Store for Source {
    fn have(&self, _: u32) -> bool {
        true
    }

    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        let (bytes, hash) = Source::read(self, chunk.into()).map_err(told)?;
        Ok((bytes.into(), hash))
    }

    fn write(&mut self, _: u32, _: &[Payload], _: &Hash) -> Result<(), StoreError> {
        Err(StoreError("nothing is written to a source".into()))
    }

    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError> {
        match self.known_hash(chunk.into()) {
            Some(hash) => Ok(*hash),
            None => Source::read(self, chunk.into()).map(|(_, hash)| hash).map_err(told),
        }
    }

    fn forget(&mut self, _: u32) {}

    fn complete(&mut self) -> Result<(), StoreError> {
        self.check().map_err(told)
    }
}

/// A copy in the making, as a store.
pub struct Keeping {
    part: Part,
    outcome: Outcome,
}

impl Keeping {
    /// Keeps chunks in `part`.
    pub fn new(part: Part) -> Keeping {
        Keeping { part, outcome: Outcome::default() }
    }

    /// Where it says that the copy has its name.
    pub fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }
}

impl Store for Keeping {
    fn have(&self, chunk: u32) -> bool {
        self.part.hash(chunk.into()).is_some()
    }

    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        let hash = Store::hash(self, chunk)?;
        Ok((self.part.read(chunk.into()).map_err(told)?.into(), hash))
    }

    fn write(&mut self, chunk: u32, pieces: &[Payload], hash: &Hash) -> Result<(), StoreError> {
        let bytes = pieces.iter().map(|piece| match piece {
            Payload::Data(bytes) => Ok(&bytes[..]),
            Payload::Zeros(_) => Err(StoreError("a chunk without content can't be kept".into())),
        });
        let bytes: Vec<&[u8]> = bytes.collect::<Result<_, _>>()?;
        self.part.write(chunk.into(), &bytes, hash).map_err(told)
    }

    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError> {
        let hash = self.part.hash(chunk.into());
        hash.copied().ok_or_else(|| StoreError(format!("chunk {chunk} is not there")))
    }

    fn forget(&mut self, chunk: u32) {
        // A journal that can't be written says too much: that is found when the chunks are read again.
        let _ = self.part.take_back(chunk.into());
    }

    /// What takes long happens in another thread: the copy goes on to serve others.
    fn complete(&mut self) -> Result<(), StoreError> {
        let finish = self.part.finish().map_err(told)?;
        self.outcome.set(Named::Finishing);
        let outcome = self.outcome.clone();
        std::thread::spawn(move || {
            outcome.set(match finish.run() {
                Ok(()) => Named::Done,
                Err(error) => Named::Failed(error.to_string()),
            });
        });
        Ok(())
    }
}
