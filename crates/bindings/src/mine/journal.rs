//! The journal of a node as a file.

use super::found::{MineItemsets, PassTuple};
use ::mine::items::Level;
use ::mine::journal::{levels, record};
use ::mine::node::Journal;
use ::mine::progress::Pass;
use pyo3::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Levels in a file, one behind the other.
pub(super) struct OnDisk {
    place: PathBuf,
}

impl OnDisk {
    pub(super) fn at(place: PathBuf) -> OnDisk {
        OnDisk { place }
    }
}

impl Journal for OnDisk {
    fn load(&mut self) -> Vec<Level> {
        let bytes = fs::read(&self.place).unwrap_or_default();
        let (levels, sound) = levels(&bytes);
        if sound < bytes.len()
            && let Ok(file) = OpenOptions::new().write(true).open(&self.place)
        {
            // What is torn is found again; a file that can't be cut is as one that can't be read.
            let _ = file.set_len(sound as u64);
        }
        levels
    }

    fn append(&mut self, level: &Level) {
        // Without a journal a crash costs more, and nothing else.
        let _ = append(&self.place, level);
    }
}

fn append(place: &Path, level: &Level) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(place)?;
    file.write_all(&record(level))
}

/// What a journal has of so many transactions, with what passes did (number, candidates, large itemsets, scans), and of how
/// many passes.
#[pyfunction]
pub(super) fn mine_journal(
    journal: &[u8],
    transactions: u64,
    passes: Vec<PassTuple>,
) -> (MineItemsets, usize) {
    let (found, _) = levels(journal);
    let count = found.len();
    let found = found.into_iter().filter(|level| !level.is_empty()).collect();
    (MineItemsets::new(transactions, found, passes.into_iter().map(pass_of).collect()), count)
}

fn pass_of((number, candidates, large, scans): PassTuple) -> Pass {
    Pass { number, candidates, large, scans }
}
