//! Where an unfinished copy and what belongs to it are, and how they come to be there and go.

use crate::error::Error;
use crate::layout::{Kind, Layout};
use crate::source::name_of;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::file;

/// Where a copy and what belongs to it are.
#[derive(Clone)]
pub(crate) struct Places {
    pub target: PathBuf,
    pub folder: PathBuf,
    pub part: PathBuf,
    pub journal: PathBuf,
    pub force: bool,
}

impl Places {
    pub fn of(target: &Path, force: bool) -> Result<Places, Error> {
        let name = name_of(target)?;
        let folder =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(Error::of(folder.display()))?;
        let target = folder.join(name);
        let beside = |suffix| folder.join(format!(".{name}.incast-{suffix}"));
        if !force && file::is_there(&target).map_err(Error::of(target.display()))? {
            return Err(Error::Exists { path: target.display().to_string() });
        }
        Ok(Places { part: beside("part"), journal: beside("journal"), target, folder, force })
    }

    pub fn part_name(&self) -> String {
        self.part.file_name().expect("it was made with one").to_string_lossy().into_owned()
    }

    /// Whether an unfinished copy of this form is there.
    pub fn has_part(&self, layout: &Layout) -> bool {
        fs::symlink_metadata(&self.part).is_ok_and(|found| match layout.folder {
            Some(_) => found.is_dir(),
            None => found.is_file(),
        })
    }

    /// Makes the folders of a copy anew; where its files will be.
    pub fn make(&self, layout: &Layout) -> Result<File, Error> {
        remove(&self.part).map_err(Error::of(self.part.display()))?;
        if layout.folder.is_some() {
            fs::create_dir(&self.part).map_err(Error::of(self.part.display()))?;
            // Nobody else puts a link there.
            let own = Permissions::from_mode(0o700);
            fs::set_permissions(&self.part, own).map_err(Error::of(self.part.display()))?;
        }
        let folder = self.open(layout)?;
        for entry in layout.entries.iter().filter(|entry| entry.kind == Kind::Folder) {
            file::make_folder_at(&folder, &entry.path).map_err(Error::of(&entry.path))?;
        }
        Ok(folder)
    }

    /// The folder that the copy's files are in.
    pub fn open(&self, layout: &Layout) -> Result<File, Error> {
        let place = if layout.folder.is_some() { &self.part } else { &self.folder };
        file::folder(place).map_err(Error::of(place.display()))
    }

    /// Leaves nothing of a copy that could not begin.
    pub fn abandon(&self, error: Error, layout: &Layout, anew: bool) -> Error {
        if anew {
            // Whatever goes wrong now, the first error is the one that matters.
            let _ = remove(&self.part);
            let _ = fs::remove_file(&self.journal);
        }
        self.full(error, layout.bytes())
    }

    /// Says how much space is missing, if it is that.
    pub fn full(&self, error: Error, needed: u64) -> Error {
        match error {
            Error::Io { source, .. } if file::is_full(&source) => {
                let path = self.folder.display().to_string();
                Error::Full { path, needed, free: file::free_bytes(&self.folder).unwrap_or(0) }
            }
            error => error,
        }
    }

    pub fn held(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::WouldBlock => Error::Busy { path: self.target.display().to_string() },
            _ => Error::of(self.journal.display())(error),
        }
    }
}

/// Removes a file, a folder with all that is in it, or nothing.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
