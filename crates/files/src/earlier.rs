//! What was at a copy's place before: it may be the copy already, or most of it.
//!
//! This is only known after its chunks are compared with the source's. If all are the same there is nothing
//! to do. Otherwise it is left alone; with `force` a new copy is begun next to it that reuses the chunks that
//! are the same. Files are compared under the names that they are to have. So what was appended to, got other
//! permissions, or has other files next to it, is reused too.

use crate::choice::Choice;
use crate::content::Content;
use crate::error::Error;
use crate::keeping::Keeping;
use crate::layout::{Kind, Layout};
use crate::part::Part;
use crate::place::Place;
use crate::places::Places;
use crate::run::Run;
use crate::store::{Named, Outcome, told};
use broadcast::transfer::{ChunkSet, Hash, Store, StoreError};
use process::Payload;
use std::collections::{BTreeMap, BTreeSet};

/// What was at a copy's place before, as a store.
pub struct Earlier {
    content: Content,
    /// Its files in the order in which they are sent, where its form is another.
    reordered: Option<Reordered>,
    place: Place,
    layout: Layout,
    chunk: u64,
    force: bool,
    outcome: Outcome,
    stage: Stage,
}

enum Stage {
    /// It is yet to be compared.
    Offered,
    /// It is what is sent.
    Same,
    /// A copy is made, with what was the same.
    Made(Keeping),
}

impl Earlier {
    /// What is at `place`, if it has the same form: files, sizes, permissions, links. With `force` it is
    /// enough that a file of it has the name of one that is sent.
    pub fn find(place: &Place, layout: &Layout, chunk: u64, force: bool) -> Option<Earlier> {
        // What can't be read, or is no file or folder, is in the way of a copy: who begins one says so.
        let content =
            Content::at(place.of_target().ok()?, Choice::default().owners(layout.has_owners()), chunk)
                .ok()?;
        let reordered = if has_form(content.layout(), layout) {
            None
        } else if force && shares_files(content.layout(), layout) {
            Some(Reordered::new(content.run_of(layout).ok()?))
        } else {
            return None;
        };
        let layout = layout.clone();
        let (place, outcome) = (place.clone(), Outcome::default());
        Some(Earlier { content, reordered, place, layout, chunk, force, outcome, stage: Stage::Offered })
    }

    /// Where it says that the copy has its name.
    pub fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }

    fn make(&mut self, same: &ChunkSet) -> Result<(), Error> {
        if !self.force {
            let path = self.place.of_target()?.shown();
            return Err(Error::Differs { path });
        }
        let mut part = Part::begin(self.place.clone(), self.layout.clone(), self.chunk, true)?;
        for chunk in same.iter().map(u64::from) {
            if part.hash(chunk).is_none() {
                let (bytes, hash) = match &mut self.reordered {
                    Some(reordered) => reordered.read_again(chunk)?,
                    None => self.content.read(chunk)?,
                };
                part.write(chunk, &[&bytes], &hash)?;
            }
        }
        self.stage = Stage::Made(Keeping::with(part, self.outcome.clone()));
        Ok(())
    }
}

/// Files that were there, in the order of those that are sent: some may be missing, or too short.
struct Reordered {
    run: Run,
    /// The hashes of chunks that were the source's.
    same: BTreeMap<u64, Hash>,
}

impl Reordered {
    fn new(run: Run) -> Reordered {
        Reordered { run, same: BTreeMap::new() }
    }

    /// Whether a chunk is there and has this hash. One that cannot be read is not.
    fn is_same(&mut self, chunk: u64, hash: &Hash) -> bool {
        let there = self.run.read(chunk).is_ok_and(|bytes| blake3::hash(&bytes).as_bytes() == hash);
        if there {
            self.same.insert(chunk, *hash);
        }
        there
    }

    /// A chunk that was the same.
    fn read_again(&mut self, chunk: u64) -> Result<(Vec<u8>, Hash), Error> {
        let bytes = self.run.read(chunk)?;
        let hash = *blake3::hash(&bytes).as_bytes();
        if self.same.get(&chunk) != Some(&hash) {
            return Err(Error::Changed { path: self.run.first_path(chunk).to_owned(), what: "its content" });
        }
        Ok((bytes, hash))
    }
}

/// Whether a file that is wanted has the name of one that was found, and neither is empty.
fn shares_files(found: &Layout, wanted: &Layout) -> bool {
    let filled = |(path, bytes)| (bytes > 0).then_some(path);
    let names: BTreeSet<&str> = found.files().filter_map(filled).collect();
    found.folder.is_some() == wanted.folder.is_some()
        && wanted.files().filter_map(filled).any(|path| names.contains(path))
}

/// Whether two layouts differ in nothing but times, and where files have holes.
fn has_form(found: &Layout, wanted: &Layout) -> bool {
    let solid = |layout: &Layout| {
        let mut layout = layout.timeless();
        for entry in &mut layout.entries {
            if let Kind::File { sparse, .. } = &mut entry.kind {
                *sparse = false;
            }
        }
        layout
    };
    solid(found) == solid(wanted)
}

impl Store for Earlier {
    fn offers(&self) -> bool {
        matches!(self.stage, Stage::Offered)
    }

    fn is_same(&mut self, chunk: u32, hash: &Hash) -> Result<bool, StoreError> {
        match &mut self.reordered {
            Some(reordered) => Ok(reordered.is_same(chunk.into(), hash)),
            None => self.content.read(chunk.into()).map(|(_, own)| own == *hash).map_err(told),
        }
    }

    fn adopt(&mut self, same: &ChunkSet) -> Result<(), StoreError> {
        if self.reordered.is_some() || u64::from(same.len()) < self.content.chunks() {
            return self.make(same).map_err(told);
        }
        self.stage = Stage::Same;
        Ok(())
    }

    fn have(&self, chunk: u32) -> bool {
        match &self.stage {
            Stage::Offered => false,
            Stage::Same => true,
            Stage::Made(keeping) => keeping.have(chunk),
        }
    }

    fn read(&mut self, chunk: u32) -> Result<(Payload, Hash), StoreError> {
        match &mut self.stage {
            Stage::Made(keeping) => Store::read(keeping, chunk),
            _ => Store::read(&mut self.content, chunk),
        }
    }

    fn write(&mut self, chunk: u32, pieces: &[Payload], hash: &Hash) -> Result<(), StoreError> {
        match &mut self.stage {
            Stage::Made(keeping) => keeping.write(chunk, pieces, hash),
            _ => Err(StoreError("nothing is written to what is there".into())),
        }
    }

    fn hash(&mut self, chunk: u32) -> Result<Hash, StoreError> {
        match &mut self.stage {
            Stage::Made(keeping) => keeping.hash(chunk),
            _ => Store::hash(&mut self.content, chunk),
        }
    }

    fn forget(&mut self, chunk: u32) {
        if let Stage::Made(keeping) = &mut self.stage {
            keeping.forget(chunk);
        }
    }

    fn complete(&mut self) -> Result<(), StoreError> {
        if let Stage::Made(keeping) = &mut self.stage {
            return keeping.complete();
        }
        // It may have changed while it was compared.
        self.content.check().map_err(told)?;
        let places = Places::of(&self.place, true).map_err(told)?;
        places.clear(&self.layout).map_err(told)?;
        self.outcome.set(Named::Done);
        Ok(())
    }
}
