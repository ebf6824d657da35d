//! Where a broadcast reads or writes a file or folder, and the descriptor by which it is reached.
//!
//! An agent's place is below its folder, which the kernel enforces (openat2(2), `RESOLVE_BENEATH`): whatever
//! the name, and whatever changes meanwhile, nothing outside is opened. Links in the folder count as long as
//! they stay in it; the place itself must not be a link.

use crate::error::Error;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::file;

/// What is sent, or where a copy will be.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
    root: Option<PathBuf>,
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Place {
    /// Anywhere.
    fn from(path: &P) -> Place {
        Place { path: path.as_ref().to_owned(), root: None }
    }
}

impl Place {
    /// Below `root`, and nowhere else.
    pub fn below(root: &Path, path: &Path) -> Place {
        Place { path: path.to_owned(), root: Some(root.to_owned()) }
    }

    /// Its name in the folder that it lies in. What is read may be named by a link, unless it is below a
    /// root.
    pub(crate) fn of_source(&self) -> Result<At, Error> {
        if self.root.is_some() {
            return self.of_target();
        }
        let path = self.path.canonicalize().map_err(Error::of(self.path.display()))?;
        match path.parent() {
            Some(parent) => At::new(parent.to_owned(), file::folder(parent), name_of(&path)?, false),
            None => At::new(path.clone(), file::folder(&path), ".", false),
        }
    }

    /// Its name in the folder that it lies in.
    pub(crate) fn of_target(&self) -> Result<At, Error> {
        let name = name_of(&self.path)?;
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let Some(root) = &self.root else {
            let path = parent.canonicalize().map_err(Error::of(parent.display()))?;
            let opened = file::folder(&path);
            return At::new(path, opened, name, false);
        };
        // A path from / on may name the root itself.
        let below = match parent.strip_prefix(root) {
            Ok(below) if below.as_os_str().is_empty() => Path::new("."),
            Ok(below) => below,
            Err(_) => parent,
        };
        let top = file::folder(root).map_err(Error::of(root.display()))?;
        match file::folder_below(&top, below) {
            Err(error) if file::leads_out(&error) => Err(Error::refused(
                self.path.display(),
                format!("it is not below the agent's folder {}", root.display()),
            )),
            opened => At::new(root.join(below), opened, name, true),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// A name in an open folder.
#[derive(Clone, Debug)]
pub(crate) struct At {
    pub folder: Arc<File>,
    pub name: String,
    /// Whether it was reached below a root.
    pub confined: bool,
    /// For messages only.
    parent: PathBuf,
}

impl At {
    fn new(parent: PathBuf, opened: std::io::Result<File>, name: &str, confined: bool) -> Result<At, Error> {
        let folder = opened.map_err(Error::of(parent.display()))?;
        Ok(At { folder: Arc::new(folder), name: name.to_owned(), confined, parent })
    }

    /// The path as people know it.
    pub fn shown(&self) -> String {
        self.shown_as(&self.name)
    }

    /// That of another name in the same folder.
    pub fn shown_as(&self, name: &str) -> String {
        self.parent.join(name).display().to_string()
    }

    /// That of the folder.
    pub fn parent(&self) -> String {
        self.parent.display().to_string()
    }
}

/// The last part of a path.
fn name_of(path: &Path) -> Result<&str, Error> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| Error::refused(path.display(), "it has no name that is UTF-8"))
}
