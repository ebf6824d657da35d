//! Which chunks of an unfinished copy are there, with their hashes: an append-only file.
//!
//! A header identifies the copied content and the length of its chunks. Records follow: chunk (8 bytes,
//! little endian), hash (32), check (8, the first of a BLAKE3 over header and record). A record of zeros for
//! a hash withdraws the chunk. A torn end is cut off. A record is written after its chunk, but nothing is
//! forced to the disk: after a crash of the machine the journal may list more than is there, so a resumed
//! copy reads the chunks again.

use crate::Hash;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;

const MAGIC: &[u8; 8] = b"incastj2";
const HEADER: usize = 48;
/// Where in the header the length of chunks begins.
const SIZE: usize = 40;
const RECORD: usize = 48;
const NONE: Hash = [0; 32];

/// The journal of a copy.
pub(crate) struct Journal {
    file: File,
    /// As it is in the file, or will be.
    header: [u8; HEADER],
}

/// What a journal said.
pub(crate) enum Found {
    /// It is of another copy, or new.
    Nothing,
    /// The length of chunks, and chunks with their hashes in the order in which they came.
    Chunks(u64, Vec<(u64, Hash)>),
}

impl Journal {
    /// The journal called `name` of a copy of so many bytes, held so that nobody else writes it.
    ///
    /// # Errors
    /// When it can't be opened; `WouldBlock` while another holds it.
    pub fn open(folder: &File, name: &str, digest: &[u8; 32], total: u64) -> io::Result<(Journal, Found)> {
        let file = sys::file::append_at(folder, name)?;
        let found = file.metadata()?;
        if !found.is_file() || found.nlink() > 1 {
            return Err(io::Error::other("it is not a file of this name alone"));
        }
        file.try_lock().map_err(io::Error::from)?;
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        header[8..SIZE].copy_from_slice(digest);
        let mut journal = Journal { file, header };
        let mut bytes = Vec::new();
        journal.file.read_to_end(&mut bytes)?;
        let Some((found, records)) = bytes.split_first_chunk::<HEADER>() else {
            return Ok((journal, Found::Nothing));
        };
        let size = u64::from_le_bytes(*found[SIZE..].first_chunk().expect("eight bytes"));
        if found[..SIZE] != header[..SIZE] || size == 0 {
            return Ok((journal, Found::Nothing));
        }
        journal.header = *found;
        let known = journal.sound(records, total.div_ceil(size))?;
        Ok((journal, Found::Chunks(size, known)))
    }

    /// What whole records say; the rest is cut off.
    fn sound(&self, records: &[u8], chunks: u64) -> io::Result<Vec<(u64, Hash)>> {
        let (records, _) = records.as_chunks::<RECORD>();
        let read = records.iter().map_while(|record| self.read(record).filter(|(chunk, _)| *chunk < chunks));
        let found: Vec<_> = read.collect();
        self.file.set_len((HEADER + found.len() * RECORD) as u64)?;
        Ok(found)
    }

    /// Begins again, with chunks of so many bytes and none of them there.
    pub fn clear(&mut self, size: u64) -> io::Result<()> {
        self.header[SIZE..].copy_from_slice(&size.to_le_bytes());
        self.file.set_len(0)?;
        self.file.write_all(&self.header)
    }

    /// A chunk is there.
    pub fn add(&mut self, chunk: u64, hash: &Hash) -> io::Result<()> {
        let mut record = [0; RECORD];
        record[..8].copy_from_slice(&chunk.to_le_bytes());
        record[8..40].copy_from_slice(hash);
        let check = self.check(&record[..40]);
        record[40..].copy_from_slice(&check);
        self.file.write_all(&record)
    }

    /// A chunk is not what it should be.
    pub fn take_back(&mut self, chunk: u64) -> io::Result<()> {
        self.add(chunk, &NONE)
    }

    fn read(&self, record: &[u8; RECORD]) -> Option<(u64, Hash)> {
        let chunk = u64::from_le_bytes(*record.first_chunk()?);
        let hash = *record[8..].first_chunk()?;
        (record[40..] == self.check(&record[..40])).then_some((chunk, hash))
    }

    fn check(&self, record: &[u8]) -> [u8; 8] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.header).update(record);
        *hasher.finalize().as_bytes().first_chunk().expect("thirty-two bytes")
    }
}

/// Whether a record means that its chunk is there.
pub(crate) fn is_there(hash: &Hash) -> bool {
    *hash != NONE
}
