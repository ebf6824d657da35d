//! The files of a layout as one sequence of bytes: which pieces of which files a chunk covers.

use crate::error::Error;
use crate::layout::Layout;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Files open at a time.
const OPEN_MAX: usize = 64;

/// How a file is opened.
pub(crate) type Open = fn(&File, &str) -> io::Result<File>;

/// A file in the run.
struct Piece {
    path: String,
    start: u64,
    bytes: u64,
}

/// A part of a chunk in one file.
pub(crate) struct Span<'a> {
    pub file: &'a File,
    /// The file's place among all files.
    pub index: usize,
    pub path: &'a str,
    /// Where in the file.
    pub at: u64,
    /// Where in the chunk.
    pub part: Range<usize>,
}

/// Files one after the other.
pub(crate) struct Run {
    pub folder: File,
    pieces: Vec<Piece>,
    pub bytes: u64,
    pub chunk: u64,
    open: Open,
    opened: VecDeque<(usize, Arc<File>)>,
}

impl Run {
    /// Files of `layout` below `folder`; the one of a layout that is no folder is called `name`.
    pub fn new(folder: File, name: &str, layout: &Layout, chunk: u64, open: Open) -> Run {
        let mut bytes = 0;
        let piece = |(path, length): (&str, u64)| {
            let path = if path.is_empty() { name } else { path };
            let start = bytes;
            bytes += length;
            Piece { path: path.to_owned(), start, bytes: length }
        };
        let pieces = layout.files().map(piece).collect();
        Run { folder, pieces, bytes, chunk, open, opened: VecDeque::new() }
    }

    pub fn chunks(&self) -> u64 {
        self.bytes.div_ceil(self.chunk)
    }

    /// Length of a chunk.
    pub fn length(&self, chunk: u64) -> usize {
        self.bytes.saturating_sub(chunk.saturating_mul(self.chunk)).min(self.chunk) as usize
    }

    /// The first file that has bytes from `start` on.
    fn first_of(&self, start: u64) -> usize {
        self.pieces.partition_point(|piece| piece.start + piece.bytes <= start)
    }

    /// The first file of a chunk.
    pub fn first_path(&self, chunk: u64) -> &str {
        self.pieces.get(self.first_of(chunk * self.chunk)).map_or("", |piece| &piece.path)
    }

    /// Calls `each` with the pieces of a chunk, in order.
    pub fn over(
        &mut self,
        chunk: u64,
        mut each: impl FnMut(&Span<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (start, length) = (chunk * self.chunk, self.length(chunk) as u64);
        let end = start + length;
        let mut index = self.first_of(start);
        while let Some(piece) = self.pieces.get(index).filter(|piece| piece.start < end) {
            let (from, to) = (piece.start.max(start), (piece.start + piece.bytes).min(end));
            if from < to {
                let file = self.file(index)?;
                let (path, at) = (&*self.pieces[index].path, from - self.pieces[index].start);
                let part = (from - start) as usize..(to - start) as usize;
                each(&Span { file: &file, index, path, at, part })?;
            }
            index += 1;
        }
        Ok(())
    }

    /// The bytes of a chunk.
    pub fn read(&mut self, chunk: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.length(chunk)];
        self.over(chunk, |span| {
            span.file.read_exact_at(&mut bytes[span.part.clone()], span.at).map_err(Error::of(span.path))
        })?;
        Ok(bytes)
    }

    /// The file at a place among all files, open.
    pub fn file(&mut self, index: usize) -> Result<Arc<File>, Error> {
        if let Some(at) = self.opened.iter().position(|(known, _)| *known == index) {
            let found = self.opened.remove(at).expect("it was just found");
            self.opened.push_front(found);
        } else {
            let path = &self.pieces[index].path;
            let file = (self.open)(&self.folder, path).map_err(Error::of(path))?;
            self.opened.truncate(OPEN_MAX - 1);
            self.opened.push_front((index, Arc::new(file)));
        }
        Ok(Arc::clone(&self.opened[0].1))
    }

    /// Files are opened in another way from now on.
    pub fn reopen(&mut self, open: Open) {
        self.open = open;
    }

    pub fn path(&self, index: usize) -> &str {
        &self.pieces[index].path
    }
}
