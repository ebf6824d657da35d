//! Packet captures.
use crate::error::{Error, Kept};
use std::path::Path;

/// A capture.
#[derive(Debug)]
pub struct Capture;

impl Capture {
    pub(crate) fn create(path: &Path, _port: &str) -> Result<Capture, Error> {
        std::fs::write(path, []).map_err(|e| Error::io(path, Kept::Nothing, e))?;
        Ok(Capture)
    }
}
