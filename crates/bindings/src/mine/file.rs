//! A temporary file without a name for transactions that memory has no room for: the kernel removes it
//! whatever happens.

use super::MineOverflowError;
use crate::hold;
use ::mine::shelf::Shelf;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

/// Made with the first block that goes there.
pub(super) struct Overflow {
    folder: PathBuf,
    file: OnceLock<File>,
    end: AtomicU64,
    failed: Mutex<Option<Error>>,
}

impl Overflow {
    /// In a folder, or in the nearest one above it that there is.
    pub(super) fn new(folder: &Path) -> io::Result<Overflow> {
        let folder = std::path::absolute(folder)?;
        let there = folder.ancestors().find(|each| each.is_dir()).unwrap_or(&folder).to_path_buf();
        Ok(Overflow {
            folder: there,
            file: OnceLock::new(),
            end: AtomicU64::new(0),
            failed: Mutex::new(None),
        })
    }

    /// `MineOverflowError` when something has failed.
    pub(super) fn check(&self) -> PyResult<()> {
        let failed = hold(&self.failed).take();
        failed.map_or(Ok(()), |error| {
            let folder = self.folder.display();
            Err(MineOverflowError::new_err(format!(
                "{folder}: transactions that exceed the memory go to a temporary file there: {error}"
            )))
        })
    }

    fn file(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = tempfile::tempfile_in(&self.folder)?;
        Ok(self.file.get_or_init(|| file))
    }

    fn fails(&self, error: Error) {
        hold(&self.failed).get_or_insert(error);
    }
}

impl Shelf for Overflow {
    fn keep(&self, bytes: &[u8]) -> u64 {
        let at = self.end.fetch_add(bytes.len() as u64, Relaxed);
        if let Err(error) = self.file().and_then(|file| file.write_all_at(bytes, at)) {
            self.fails(error);
        }
        at
    }

    fn fetch(&self, at: u64, bytes: &mut [u8]) -> bool {
        let file = self.file.get().ok_or_else(|| Error::from(ErrorKind::NotFound));
        let read = file.and_then(|file| file.read_exact_at(bytes, at));
        read.map_err(|error| self.fails(error)).is_ok()
    }
}
