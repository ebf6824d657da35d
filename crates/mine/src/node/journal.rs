//! Where the large itemsets of finished passes are kept, so that they outlive a crash. Not here: files.

use crate::items::Level;
use crate::journal::Sound;

/// Keeps levels.
pub trait Journal: Send {
    /// The levels kept so far, that of pass 1 first, if they take no more than `room` bytes. An empty one is
    /// the last: its pass found nothing.
    fn load(&mut self, room: usize) -> Sound;
    /// Keeps one more.
    fn append(&mut self, level: &Level);
}

/// Keeps them in memory, as a modelled host's disk does.
#[derive(Debug, Default)]
pub struct InMemory(Vec<Level>);

impl Journal for InMemory {
    fn load(&mut self, _room: usize) -> Sound {
        Sound { levels: self.0.clone(), ..Sound::default() }
    }
    fn append(&mut self, level: &Level) {
        self.0.push(level.clone());
    }
}
