//! What was at a copy's place before: it may be the copy already, or most of it.
//!
//! This is only known after its chunks are compared with the source's. If all are the same there is nothing
//! to do. Otherwise it is left alone; with `force` a new copy is begun next to it that reuses the chunks that
//! are the same.

use crate::choice::Choice;
use crate::error::Error;
use crate::keeping::Keeping;
use crate::layout::{Kind, Layout};
use crate::part::Part;
use crate::place::Place;
use crate::places::Places;
use crate::source::Source;
use crate::store::{Named, Outcome, told};
use broadcast::transfer::{ChunkSet, Hash, Store, StoreError};
use process::Payload;

/// What was at a copy's place before, as a store.
pub struct Earlier {
    source: Source,
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
    /// What is at `place`, if it has the same form: files, sizes, permissions, links.
    pub fn find(place: &Place, layout: &Layout, chunk: u64, force: bool) -> Option<Earlier> {
        // What can't be read, or is no file or folder, is in the way of a copy: who begins one says so.
        let source =
            Source::at(place.of_target().ok()?, Choice::default().owners(layout.has_owners()), chunk).ok()?;
        let same = has_form(source.layout(), layout);
        let layout = layout.clone();
        let (place, outcome) = (place.clone(), Outcome::default());
        same.then_some(Earlier { source, place, layout, chunk, force, outcome, stage: Stage::Offered })
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
                let (bytes, hash) = self.source.read(chunk)?;
                part.write(chunk, &[&bytes], &hash)?;
            }
        }
        self.stage = Stage::Made(Keeping::with(part, self.outcome.clone()));
        Ok(())
    }
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
        self.source.read(chunk.into()).map(|(_, own)| own == *hash).map_err(told)
    }

    fn adopt(&mut self, same: &ChunkSet) -> Result<(), StoreError> {
        if u64::from(same.len()) < self.source.chunks() {
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
            _ => Store::read(&mut self.source, chunk),
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
            _ => Store::hash(&mut self.source, chunk),
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
        self.source.check().map_err(told)?;
        let places = Places::of(&self.place, true).map_err(told)?;
        places.clear(&self.layout).map_err(told)?;
        self.outcome.set(Named::Done);
        Ok(())
    }
}
