//! What is sent, as the store of a broadcast's chunks, and the progress of a copy's final steps.

use crate::content::Content;
use crate::finish::Finish;
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

    pub(crate) fn set(&self, named: Named) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = named;
    }

    /// Finishes a copy in a thread, and says when.
    pub(crate) fn follow(self, finish: Finish) {
        self.set(Named::Finishing);
        std::thread::spawn(move || {
            self.set(match finish.run() {
                Ok(()) => Named::Done,
                Err(error) => Named::Failed(error.to_string()),
            });
        });
    }
}

pub(crate) fn told(error: crate::Error) -> StoreError {
    StoreError(error.to_string())
}

impl Store for Content {
    fn have(&self, _: u32) -> bool {
        true
    }

    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        let (bytes, hash) = Content::read(self, chunk.into()).map_err(told)?;
        Ok((bytes.into(), hash))
    }

    fn write(&mut self, _: u32, _: &[Payload], _: &Hash) -> Result<(), StoreError> {
        Err(StoreError("nothing is written to a source".into()))
    }

    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError> {
        match self.known_hash(chunk.into()) {
            Some(hash) => Ok(*hash),
            None => Content::read(self, chunk.into()).map(|(_, hash)| hash).map_err(told),
        }
    }

    fn forget(&mut self, _: u32) {}

    fn complete(&mut self) -> Result<(), StoreError> {
        self.check().map_err(told)
    }
}
