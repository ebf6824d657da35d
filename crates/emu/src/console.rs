//! What a guest prints: kept in a file, and read for what its first program has to say.
//!
//! A line that begins with [`SIGN`] is for us. The first program, which we wrote, says so when a program of
//! the scenario has ended.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Begins a line that is for us.
pub const SIGN: &str = "incast: ";
/// A line that is longer than this is for nobody.
pub const LINE_MAX: usize = 256;

/// A guest's console.
#[derive(Debug)]
pub struct Console {
    from: File,
    kept: File,
    line: Vec<u8>,
    /// It has said its last.
    pub over: bool,
}

impl Console {
    /// Reads from a pipe and keeps all in a file.
    pub fn new(from: OwnedFd, kept: File) -> Console {
        Console { from: File::from(from), kept, line: Vec::new(), over: false }
    }

    /// What becomes readable when there is more.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    /// Reads all that there is; what was for us, without its sign.
    ///
    /// # Errors
    /// A file that can't be written.
    pub fn read(&mut self) -> io::Result<Vec<String>> {
        let mut said = Vec::new();
        let mut part = [0; 4096];
        while !self.over {
            match self.from.read(&mut part) {
                Ok(0) => self.over = true,
                Ok(len) => {
                    self.kept.write_all(&part[..len]).map_err(unkept)?;
                    part[..len].iter().for_each(|byte| said.extend(self.add(*byte)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(said)
    }

    fn add(&mut self, byte: u8) -> Option<String> {
        if byte != b'\n' {
            if self.line.len() < LINE_MAX {
                self.line.push(byte);
            }
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(line.trim_ascii_end()).ok()?;
        text.strip_prefix(SIGN).map(str::to_owned)
    }
}

/// Says of an error that it is none of the guest's.
fn unkept(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("what it prints on its console can't be kept: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_us_are_found_in_all_that_is_kept() {
        let (from, to) = rustix::pipe::pipe().unwrap();
        rustix::fs::fcntl_setfl(&from, rustix::fs::OFlags::NONBLOCK).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("console");
        let mut console = Console::new(from, File::create(&path).unwrap());
        let mut to = File::from(to);
        to.write_all(b"booting\nincast: rea").unwrap();
        assert!(console.read().unwrap().is_empty());
        to.write_all(b"dy\r\nnot incast: this\n\xff\n").unwrap();
        to.write_all(&[b'x'; 3 * LINE_MAX]).unwrap();
        drop(to);
        assert_eq!(console.read().unwrap(), ["ready"]);
        assert!(console.over);
        assert!(std::fs::read(path).unwrap().starts_with(b"booting\nincast: ready\r\n"));
    }

    #[test]
    fn a_full_disk_is_not_taken_for_a_guest_that_is_silent() {
        let (from, to) = rustix::pipe::pipe().unwrap();
        let mut console = Console::new(from, File::options().write(true).open("/dev/full").unwrap());
        File::from(to).write_all(b"booting\n").unwrap();
        let error = console.read().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("what it prints on its console can't be kept: No space left"));
    }
}
