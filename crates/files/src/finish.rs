//! The last steps of a complete copy: owners, permissions, times, the disk, its name.

use crate::error::Error;
use crate::layout::{About, Kind, Layout};
use crate::places::Places;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use sys::file;

/// The last steps of a copy.
pub struct Finish {
    pub(crate) places: Places,
    pub(crate) folder: File,
    pub(crate) layout: Layout,
}

impl Finish {
    /// Gives files what belongs to them, forces all to the disk, and gives the copy its name.
    ///
    /// # Errors
    /// When the disk fails, or the target has come to be meanwhile; then the copy stays unfinished.
    pub fn run(self) -> Result<(), Error> {
        let places = &self.places;
        if self.layout.folder.is_some() {
            self.dress_folder()?
        } else {
            self.dress_file()?
        }
        self.rename()?;
        file::remove_at(places.folder(), &places.journal).map_err(Error::of(places.journal_shown()))?;
        places.folder().sync_all().map_err(Error::of(places.target.parent()))?;
        // What was at the target, if it was replaced, has the other name now.
        let why = |error: io::Error| {
            format!("replaced; but what was there before is at {}: {error}", places.part_shown())
        };
        file::remove_at(places.folder(), &places.part)
            .map_err(|error| Error::refused(places.target.shown(), why(error)))
    }

    fn dress_file(&self) -> Result<(), Error> {
        let dress = || {
            let file = file::read_at(&self.folder, &self.places.part)?;
            give(&file, &self.layout.entries[0].about)?;
            file.sync_all()
        };
        dress().map_err(Error::of(self.places.part_shown()))
    }

    fn dress_folder(&self) -> Result<(), Error> {
        // What lies in a folder comes before the folder, which may be read-only then.
        for entry in self.layout.entries.iter().rev() {
            let about = &entry.about;
            let dressed = match &entry.kind {
                Kind::File { .. } => {
                    file::read_at(&self.folder, &entry.path).and_then(|file| give(&file, about))
                }
                Kind::Folder => {
                    file::folder_at(&self.folder, &entry.path).and_then(|file| give(&file, about))
                }
                Kind::Link { to } => match file::link_at(to, &self.folder, &entry.path) {
                    // Made before an interruption.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    made => made,
                },
            };
            dressed.map_err(Error::of(&entry.path))?;
        }
        let whole = || {
            self.layout.folder.iter().try_for_each(|about| give(&self.folder, about))?;
            file::sync_all_of(&self.folder)
        };
        whole().map_err(Error::of(self.places.part_shown()))
    }

    fn rename(&self) -> Result<(), Error> {
        let Places { target, part, force, .. } = &self.places;
        let there = file::is_there(&*target.folder, &target.name).map_err(Error::of(target.shown()))?;
        let renamed = if *force && there {
            file::exchange(&*target.folder, part, &target.name)
        } else {
            file::rename_new(&*target.folder, part, &target.name)
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: target.shown() },
            _ => Error::of(target.shown())(error),
        })
    }
}

/// Gives a file or folder what belongs to it. The owner comes first: a new one takes away permissions, and
/// the time last: the others could change it.
fn give(file: &File, about: &About) -> io::Result<()> {
    if let Some((user, group)) = about.owner {
        file::set_owner(file, user, group)?;
    }
    file.set_permissions(Permissions::from_mode(about.mode))?;
    file::set_mtime_ns(file, about.mtime_ns)
}
