//! Records that a source's finished walks are kept in: a snapshot of all of them, and batches of those that
//! were finished since.
//!
//! A journal is such records one after the other, the snapshot first if there is one. Its writer only
//! appends; so a record that is torn or damaged ends what can be read, and what is behind it is walked again.
//! Not here: files, and what a snapshot holds ([`crate::store`]).

use crate::sink::FinishedWalk;
use twox_hash::XxHash3_64;

/// What is in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Snapshot,
    /// Start, number, end of each walk.
    Ends,
    /// Start, number, how many nodes, and these.
    Paths,
}

const MAGICS: [([u8; 4], Kind); 3] =
    [(*b"RWS2", Kind::Snapshot), (*b"RWE2", Kind::Ends), (*b"RWP2", Kind::Paths)];
/// Before the content: what it is, and its length.
const HEAD: usize = 12;
/// Behind it: a checksum of all before.
const SUM: usize = 8;
/// Bytes of a walk, without a path.
const ROW: usize = 12;

/// A record of a snapshot.
pub(crate) fn snapshot(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = open(Kind::Snapshot);
    write(&mut out);
    close(&mut out);
    out
}

fn open(kind: Kind) -> Vec<u8> {
    let (magic, _) = MAGICS[kind as usize];
    let mut out = magic.to_vec();
    out.extend([0; 8]);
    out
}

fn close(out: &mut Vec<u8>) {
    let length = (out.len() - HEAD) as u64;
    out[4..HEAD].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(out);
    out.extend(sum);
}

/// Against damage, not against people.
fn checksum(bytes: &[u8]) -> [u8; SUM] {
    XxHash3_64::oneshot(bytes).to_le_bytes()
}

/// The first record of a journal, and what is behind it; nothing where it is torn or damaged.
pub(crate) fn next(bytes: &[u8]) -> Option<(Kind, &[u8], &[u8])> {
    let head = bytes.first_chunk::<HEAD>()?;
    let (_, kind) = MAGICS.into_iter().find(|(magic, _)| head.starts_with(magic))?;
    let length = u64::from_le_bytes(*head.last_chunk().expect("twelve bytes"));
    let length = usize::try_from(length).ok()?.checked_add(HEAD)?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let (sum, rest) = rest.split_first_chunk::<SUM>()?;
    (*sum == checksum(record)).then(|| (kind, &record[HEAD..], rest))
}

/// How many bytes of a journal can be read: to append to it, cut it there.
pub fn sound(journal: &[u8]) -> usize {
    let mut rest = journal;
    while let Some((_, _, behind)) = next(rest) {
        rest = behind;
    }
    journal.len() - rest.len()
}

/// Finished walks on their way into a journal.
#[derive(Debug)]
pub struct Batch {
    paths: bool,
    record: Vec<u8>,
}

impl Batch {
    /// None yet; of walks with their paths, or with their ends only.
    pub fn new(paths: bool) -> Batch {
        Batch { paths, record: open(if paths { Kind::Paths } else { Kind::Ends }) }
    }

    /// A walk is finished. Says how many bytes wait.
    #[inline]
    pub fn add(&mut self, walk: &FinishedWalk<'_>) -> usize {
        let last = if self.paths { walk.path.len() as u32 } else { walk.end };
        let mut row = [0; ROW];
        for (place, word) in row.as_chunks_mut::<4>().0.iter_mut().zip([walk.start, walk.number, last]) {
            *place = word.to_le_bytes();
        }
        self.record.extend_from_slice(&row);
        if self.paths {
            walk.path.iter().for_each(|node| self.record.extend_from_slice(&node.to_le_bytes()));
        }
        self.record.len() - HEAD
    }

    /// Hands over the record of all walks since the last time; nothing when there are none.
    pub fn take<T>(&mut self, write: impl FnOnce(&[u8]) -> T) -> Option<T> {
        if self.record.len() == HEAD {
            return None;
        }
        close(&mut self.record);
        let written = write(&self.record);
        self.record.truncate(HEAD);
        Some(written)
    }
}

/// The walks of a batch; nothing when it isn't made of whole walks. Their steps are not kept: those of paths
/// are known.
pub(crate) fn walks(kind: Kind, content: &[u8], mut each: impl FnMut(&FinishedWalk<'_>)) -> Option<()> {
    let word = |row: &[u8], at: usize| u32::from_le_bytes(*row[at..].first_chunk().expect("four bytes"));
    if kind == Kind::Ends {
        let (rows, []) = content.as_chunks::<ROW>() else { return None };
        for row in rows {
            let [start, number, end] = [word(row, 0), word(row, 4), word(row, 8)];
            each(&FinishedWalk { start, number, end, steps: 0, path: &[] });
        }
        return Some(());
    }
    let (mut rest, mut path) = (content, Vec::new());
    while let Some((head, behind)) = rest.split_first_chunk::<ROW>() {
        let [start, number, nodes] = [word(head, 0), word(head, 4), word(head, 8)];
        let (nodes, behind) = behind.split_at_checked((nodes as usize).checked_mul(4)?)?;
        path.clear();
        path.extend(nodes.chunks_exact(4).map(|node| word(node, 0)));
        let (end, steps) = (*path.last()?, path.len() as u32 - 1);
        each(&FinishedWalk { start, number, end, steps, path: &path });
        rest = behind;
    }
    rest.is_empty().then_some(())
}
