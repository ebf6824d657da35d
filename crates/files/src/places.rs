//! Where an unfinished copy and its other files are, and how they are created and removed.
//!
//! All are names in one open folder: whatever happens to the path that led there, nothing else is touched.

use crate::error::Error;
use crate::journal::Journal;
use crate::layout::{Kind, Layout};
use crate::place::{At, Place};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use sys::file;

/// Where a copy and what belongs to it are.
#[derive(Clone)]
pub(crate) struct Places {
    pub target: At,
    pub part: String,
    pub journal: String,
    pub force: bool,
}

impl Places {
    pub fn of(target: &Place, force: bool) -> Result<Places, Error> {
        let target = target.of_target()?;
        let beside = |suffix| format!(".{}.incast-{suffix}", target.name);
        if !force && file::is_there(&*target.folder, &target.name).map_err(Error::of(target.shown()))? {
            return Err(Error::Exists { path: target.shown() });
        }
        Ok(Places { part: beside("part"), journal: beside("journal"), target, force })
    }

    /// The folder that all are in.
    pub fn folder(&self) -> &File {
        &self.target.folder
    }

    pub fn part_shown(&self) -> String {
        self.target.shown_as(&self.part)
    }

    pub fn journal_shown(&self) -> String {
        self.target.shown_as(&self.journal)
    }

    /// Whether an unfinished copy of this form is there. A file that has another name is none of ours: what
    /// is written to it would appear under that name too.
    pub fn has_part(&self, layout: &Layout) -> bool {
        file::look_at(self.folder(), &self.part).is_ok_and(|found| match layout.folder {
            Some(_) => found.is_dir(),
            None => found.is_file() && found.nlink() == 1,
        })
    }

    /// Makes the folders of a copy again; where its files will be.
    pub fn make(&self, layout: &Layout) -> Result<File, Error> {
        file::remove_at(self.folder(), &self.part).map_err(Error::of(self.part_shown()))?;
        if layout.folder.is_some() {
            // It is its owner's alone: nobody else puts a link there.
            file::make_folder_at(self.folder(), &self.part).map_err(Error::of(self.part_shown()))?;
        }
        let folder = self.open(layout)?;
        for entry in layout.entries.iter().filter(|entry| entry.kind == Kind::Folder) {
            file::make_folder_at(&folder, &entry.path).map_err(Error::of(&entry.path))?;
        }
        Ok(folder)
    }

    /// The folder that the copy's files are in.
    pub fn open(&self, layout: &Layout) -> Result<File, Error> {
        match layout.folder {
            Some(_) => file::folder_at(self.folder(), &self.part).map_err(Error::of(self.part_shown())),
            None => self.folder().try_clone().map_err(Error::of(self.target.parent())),
        }
    }

    /// Removes what a copy has left that had its name when it was interrupted, unless somebody is at it.
    pub fn clear(&self, layout: &Layout) -> Result<(), Error> {
        if !file::is_there(self.folder(), &self.journal).map_err(Error::of(self.journal_shown()))? {
            return Ok(());
        }
        let (_held, _) = Journal::open(self.folder(), &self.journal, &layout.digest(), layout.bytes())
            .map_err(|error| self.held(error))?;
        file::remove_at(self.folder(), &self.part).map_err(Error::of(self.part_shown()))?;
        file::remove_at(self.folder(), &self.journal).map_err(Error::of(self.journal_shown()))
    }

    /// Leaves nothing of a copy that could not begin.
    pub fn abandon(&self, error: Error, layout: &Layout, anew: bool) -> Error {
        if anew {
            // Whatever goes wrong now, the first error is the one that matters.
            let _ = file::remove_at(self.folder(), &self.part);
            let _ = file::remove_at(self.folder(), &self.journal);
        }
        self.full(error, layout.bytes())
    }

    /// Says how much space is missing, if it is that.
    pub fn full(&self, error: Error, needed: u64) -> Error {
        match error {
            Error::Io { source, .. } if file::is_full(&source) => {
                let free = file::free_bytes(self.folder()).unwrap_or(0);
                Error::Full { path: self.target.parent(), needed, free }
            }
            error => error,
        }
    }

    pub fn held(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::WouldBlock => Error::Busy { path: self.target.shown() },
            _ => Error::of(self.journal_shown())(error),
        }
    }
}
