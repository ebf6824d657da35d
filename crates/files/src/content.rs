//! The content that is sent, read chunk by chunk. A file that changes during the transfer ends the broadcast:
//! receivers would otherwise assemble content that never existed.

use crate::Hash;
use crate::choice::Choice;
use crate::error::Error;
use crate::layout::Layout;
use crate::place::{At, Place};
use crate::run::{Open, Run};
use crate::scan::{Looked, Stamp, look};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A file or folder that is sent, or one that a receiver had before.
pub struct Content {
    at: At,
    choice: Choice,
    layout: Layout,
    run: Run,
    stamps: Vec<Stamp>,
    hashes: Vec<Option<Hash>>,
}

impl Content {
    /// What `choice` leaves of what is at `path`, cut into chunks of so many bytes.
    ///
    /// # Errors
    /// As [`crate::scan`].
    pub fn open(path: impl Into<Place>, choice: Choice, chunk: u64) -> Result<Content, Error> {
        Content::at(path.into().of_source()?, choice, chunk)
    }

    pub(crate) fn at(at: At, choice: Choice, chunk: u64) -> Result<Content, Error> {
        let Looked { layout, stamps, folder } = look(&at, &choice)?;
        let run = Run::new(folder, &at.name, &layout, chunk, |folder, path| sys::file::read_at(folder, path));
        let hashes = vec![None; run.chunks() as usize];
        Ok(Content { at, choice, layout, run, stamps, hashes })
    }

    /// Its files in the order of another layout; some of them may not be there.
    pub(crate) fn run_of(&self, layout: &Layout) -> Result<Run, Error> {
        let folder = self.run.folder.try_clone().map_err(Error::of(self.at.shown()))?;
        let open: Open = |folder, path| sys::file::read_at(folder, path);
        Ok(Run::new(folder, &self.at.name, layout, self.run.chunk, open))
    }

    /// What it is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Chunks of the whole.
    pub fn chunks(&self) -> u64 {
        self.run.chunks()
    }

    /// Length of a chunk in bytes.
    pub fn length(&self, chunk: u64) -> usize {
        self.run.length(chunk)
    }

    /// A chunk and its hash.
    ///
    /// # Errors
    /// When it can't be read, or is not what it was any more.
    pub fn read(&mut self, chunk: u64) -> Result<(Vec<u8>, Hash), Error> {
        let mut bytes = vec![0; self.run.length(chunk)];
        let Content { run, stamps, .. } = self;
        run.over(chunk, |span| {
            let read = span.file.read_exact_at(&mut bytes[span.part.clone()], span.at);
            // The look comes last: what was read has then not changed before.
            same(&stamps[span.index], span.file, span.path)?;
            read.map_err(Error::of(span.path))
        })?;
        let hash = *blake3::hash(&bytes).as_bytes();
        if *self.hashes[chunk as usize].get_or_insert(hash) != hash {
            return Err(self.changed(chunk));
        }
        Ok((bytes, hash))
    }

    /// The hash of a chunk that was read.
    pub fn known_hash(&self, chunk: u64) -> Option<&Hash> {
        self.hashes.get(chunk as usize)?.as_ref()
    }

    /// Whether all files are still what they were, under their names.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), Error> {
        let Looked { layout, stamps, .. } = look(&self.at, &self.choice)?;
        let files = layout.files().map(|(path, _)| path);
        if layout.entries.len() != self.layout.entries.len()
            || !files.eq(self.layout.files().map(|(path, _)| path))
        {
            return Err(Error::Changed { path: self.at.shown(), what: "what is in it" });
        }
        let mut differing = self.stamps.iter().zip(&stamps).enumerate();
        match differing.find_map(|(index, (before, now))| Some((index, before.differs(now)?))) {
            Some((index, what)) => Err(Error::Changed { path: self.run.path(index).to_owned(), what }),
            None => Ok(()),
        }
    }

    /// Which of the files of a chunk has changed is not known: the first is named.
    fn changed(&self, chunk: u64) -> Error {
        Error::Changed { path: self.run.first_path(chunk).to_owned(), what: "its content" }
    }
}

fn same(before: &Stamp, file: &File, path: &str) -> Result<(), Error> {
    let now = Stamp::of(&file.metadata().map_err(Error::of(path))?);
    match before.differs(&now) {
        Some(what) => Err(Error::Changed { path: path.to_owned(), what }),
        None => Ok(()),
    }
}
