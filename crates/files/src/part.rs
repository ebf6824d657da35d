//! An unfinished copy: `.NAME.incast-part` next to the target, with a journal, until it is complete.
//!
//! All space is reserved before anything arrives, except for sparse files. Only a complete copy ever has the
//! final name: it gets it by one rename, after its content is on the disk.

use crate::Hash;
use crate::error::Error;
use crate::finish::Finish;
use crate::journal::{Found, Journal, is_there};
use crate::layout::Layout;
use crate::place::Place;
use crate::places::Places;
use crate::run::{Run, Span};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use sys::file;

/// A copy that is being made.
pub struct Part {
    places: Places,
    layout: Layout,
    run: Run,
    journal: Journal,
    /// Which files have holes.
    sparse: Vec<bool>,
    hashes: Vec<Option<Hash>>,
    there: u64,
}

impl Part {
    /// Begins a copy that will be at `target`, or goes on with one that was interrupted: its chunks are read
    /// again and count when their hashes are right. `force`: a target that exists is replaced in the end.
    ///
    /// # Errors
    /// When the target exists, its folder doesn't, another process is at it, or there is no space for the
    /// whole.
    pub fn begin(target: impl Into<Place>, layout: Layout, chunk: u64, force: bool) -> Result<Part, Error> {
        layout.check()?;
        let places = Places::of(&target.into(), force)?;
        let (journal, found) =
            Journal::open(places.folder(), &places.journal, &layout.digest(), layout.bytes())
                .map_err(|error| places.held(error))?;
        let (size, known) = match found {
            Found::Chunks(size, known) if places.has_part(&layout) => (size, known),
            _ => (chunk, Vec::new()),
        };
        let anew = known.is_empty();
        let begun = if anew { places.make(&layout) } else { places.open(&layout) };
        let folder = begun.map_err(|error| places.abandon(error, &layout, anew))?;
        let run = Run::new(folder, &places.part, &layout, chunk, open_with_one_name);
        let hashes = vec![None; run.chunks() as usize];
        let sparse = layout.sparse().collect();
        let mut part = Part { places, layout, run, journal, sparse, hashes, there: 0 };
        let space = part.take_space();
        space.map_err(|error| part.places.abandon(error, &part.layout, anew))?;
        if anew {
            part.journal.clear(chunk).map_err(Error::of(part.places.journal_shown()))?;
        } else if size == chunk {
            part.recall(known)?;
        } else {
            part.recut(size, known)?;
        }
        Ok(part)
    }

    /// Chunks of the whole.
    pub fn chunks(&self) -> u64 {
        self.run.chunks()
    }

    /// Chunks that are there.
    pub fn there(&self) -> u64 {
        self.there
    }

    /// Length of a chunk in bytes.
    pub fn length(&self, chunk: u64) -> usize {
        self.run.length(chunk)
    }

    /// The hash of a chunk that is there.
    pub fn hash(&self, chunk: u64) -> Option<&Hash> {
        self.hashes.get(chunk as usize)?.as_ref()
    }

    /// Writes a chunk, in pieces in order; the caller has compared its hash.
    ///
    /// # Errors
    /// When it can't be written; then it is not there.
    ///
    /// # Panics
    /// When the pieces don't have the chunk's length.
    pub fn write(&mut self, chunk: u64, pieces: &[&[u8]], hash: &Hash) -> Result<(), Error> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert_eq!(length, self.run.length(chunk), "a chunk has its length");
        let sparse = &self.sparse;
        let write =
            |span: &Span<'_>| write_span(span, pieces, sparse[span.index]).map_err(Error::of(span.path));
        let places = &self.places;
        let written = self
            .run
            .over(chunk, write)
            .and_then(|()| self.journal.add(chunk, hash).map_err(Error::of(places.journal_shown())));
        written.map_err(|error| places.full(error, self.run.bytes))?;
        self.there += u64::from(self.hashes[chunk as usize].replace(*hash).is_none());
        Ok(())
    }

    /// A chunk that is there, as it was written.
    ///
    /// # Errors
    /// When it can't be read, or is not there.
    pub fn read(&mut self, chunk: u64) -> Result<Vec<u8>, Error> {
        self.run.read(chunk)
    }

    /// A chunk turned out not to be what it should be: it is missing again.
    ///
    /// # Errors
    /// When the journal can't be written.
    pub fn take_back(&mut self, chunk: u64) -> Result<(), Error> {
        if self.hashes[chunk as usize].take().is_some() {
            self.there -= 1;
            self.journal.take_back(chunk).map_err(Error::of(self.places.journal_shown()))?;
        }
        Ok(())
    }

    /// All chunks are there: what is left to be done before the copy has its name. It takes long, and may be
    /// done in another thread; chunks can be read meanwhile and afterwards.
    ///
    /// # Errors
    /// When chunks are missing, or there are no descriptors left.
    pub fn finish(&mut self) -> Result<Finish, Error> {
        if self.there < self.run.chunks() {
            return Err(Error::refused(self.places.target.shown(), "it is not whole"));
        }
        // What is read-only from now on can still be read.
        self.run.reopen(|folder, path| file::read_at(folder, path));
        let folder = self.run.folder.try_clone().map_err(Error::of(self.places.part_shown()))?;
        Ok(Finish { places: self.places.clone(), folder, layout: self.layout.clone() })
    }

    /// Takes the space of every file. What one with holes needs is not known: it only gets its length.
    fn take_space(&mut self) -> Result<(), Error> {
        let lengths: Vec<u64> = self.layout.files().map(|(_, bytes)| bytes).collect();
        for (index, bytes) in lengths.into_iter().enumerate() {
            let file = self.run.file(index)?;
            let taken = if self.sparse[index] { file.set_len(bytes) } else { file::allocate(&file, bytes) };
            taken
                .map_err(|error| self.places.full(Error::of(self.run.path(index))(error), self.run.bytes))?;
        }
        Ok(())
    }

    /// Reads what a journal says is there.
    fn recall(&mut self, known: Vec<(u64, Hash)>) -> Result<(), Error> {
        for (chunk, hash) in known {
            self.hashes[chunk as usize] = is_there(&hash).then_some(hash);
        }
        for chunk in 0..self.run.chunks() {
            let Some(hash) = self.hashes[chunk as usize] else { continue };
            self.there += 1;
            if *blake3::hash(&self.read(chunk)?).as_bytes() != hash {
                self.take_back(chunk)?;
            }
        }
        Ok(())
    }

    /// The same when its chunks were of another size, as they are when the network looked different the last
    /// time: chunks of this size that lie in sound ones count.
    fn recut(&mut self, size: u64, known: Vec<(u64, Hash)>) -> Result<(), Error> {
        let folder = self.run.folder.try_clone().map_err(Error::of(self.places.part_shown()))?;
        let open = |folder: &_, path: &_| file::read_at(folder, path);
        let mut before = Run::new(folder, &self.places.part, &self.layout, size, open);
        let mut sound = vec![false; before.chunks() as usize];
        for (chunk, hash) in known.into_iter().collect::<BTreeMap<_, _>>() {
            let there = is_there(&hash) && *blake3::hash(&before.read(chunk)?).as_bytes() == hash;
            sound[chunk as usize] = there;
        }
        let shown = self.places.journal_shown();
        self.journal.clear(self.run.chunk).map_err(Error::of(&shown))?;
        for chunk in 0..self.run.chunks() {
            let start = chunk * self.run.chunk;
            let last = start + self.run.length(chunk) as u64 - 1;
            if sound[(start / size) as usize..=(last / size) as usize].iter().all(|there| *there) {
                let hash = *blake3::hash(&self.run.read(chunk)?).as_bytes();
                self.journal.add(chunk, &hash).map_err(Error::of(&shown))?;
                self.hashes[chunk as usize] = Some(hash);
                self.there += 1;
            }
        }
        Ok(())
    }
}

/// A file of the copy, to write. One with another name is none of ours: it would change under that name too.
fn open_with_one_name(folder: &File, path: &str) -> io::Result<File> {
    let file = file::write_at(folder, path)?;
    let found = file.metadata()?;
    if found.is_file() && found.nlink() == 1 {
        Ok(file)
    } else {
        Err(io::Error::other("somebody else has put it there"))
    }
}

/// Writes what of the pieces of a chunk lies in one file. If that is nothing but zeros, a file with holes has
/// one there.
fn write_span(span: &Span<'_>, pieces: &[&[u8]], sparse: bool) -> io::Result<()> {
    if sparse && within(span, pieces).all(|(_, bytes)| bytes.iter().all(|byte| *byte == 0)) {
        let bytes = span.part.len() as u64;
        if file::make_hole(span.file, span.at, bytes)? {
            return Ok(());
        }
    }
    within(span, pieces).try_for_each(|(at, bytes)| span.file.write_all_at(bytes, at))
}

/// The bytes of a chunk's pieces that lie in one file, and where in the file.
fn within<'a>(span: &Span<'a>, pieces: &'a [&'a [u8]]) -> impl Iterator<Item = (u64, &'a [u8])> {
    let (part, first) = (span.part.clone(), span.at);
    let mut start = 0;
    pieces.iter().filter_map(move |piece| {
        let end = start + piece.len();
        let (from, to) = (start.max(part.start), end.min(part.end));
        let found =
            (from < to).then(|| (first + (from - part.start) as u64, &piece[from - start..to - start]));
        start = end;
        found
    })
}
