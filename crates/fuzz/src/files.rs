//! What a broadcast finds on disk or is told of files: the journal of an unfinished copy, the layout of what
//! is sent.

use ::files::{Layout, Part};
use std::fs;
use std::path::{Component, Path};

/// Chunks of the copy, of this size each.
const CHUNKS: u64 = 5;
const CHUNK: u64 = 16;

/// A layout is refused in words, or none of its paths or links leads out of its folder.
pub fn layout(bytes: &[u8]) {
    let Ok(layout) = serde_json::from_slice::<Layout>(bytes) else { return };
    if let Err(error) = layout.check() {
        return assert!(!error.to_string().is_empty());
    }
    for entry in &layout.entries {
        let within = |part| matches!(part, Component::Normal(_));
        assert!(Path::new(&entry.path).components().all(within), "{entry:?}");
    }
    let text = serde_json::to_vec(&layout).expect("plain data");
    assert_eq!(serde_json::from_slice::<Layout>(&text).expect("what was written can be read"), layout);
}

/// A copy of which one chunk is there goes on with another journal: these bytes; or its header with these
/// bytes behind it, as records with checks that are right. The chunks that it takes for there are those that
/// are.
pub fn journal(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("copy");
    let whole = r#"{"folder":null,"entries":[{"path":"","about":{"mode":420},"kind":"file","bytes":80}]}"#;
    let layout: Layout = serde_json::from_str(whole).expect("a layout of one file");
    assert_eq!(layout.bytes(), CHUNKS * CHUNK);
    let begin = || Part::begin(target.as_path(), layout.clone(), CHUNK, false);
    let path = folder.path().join(".copy.incast-journal");
    let right = [7u8; CHUNK as usize];
    let hash = *blake3::hash(&right).as_bytes();
    let mut part = begin().expect("a new copy");
    part.write(1, &[&right], &hash).expect("a chunk");
    drop(part);
    let header = fs::read(&path).expect("a journal")[..48].to_vec();
    let other = [&header[..40], bytes.first_chunk::<8>().map_or(&header[40..], |size| size)].concat();
    for journal in
        [bytes.to_vec(), checked(&header, bytes), checked(&other, bytes.get(8..).unwrap_or_default())]
    {
        fs::write(&path, &journal).expect("a journal");
        match begin() {
            Ok(mut part) => {
                assert_eq!(part.chunks(), CHUNKS);
                let there: Vec<u64> = (0..CHUNKS).filter(|chunk| part.hash(*chunk).is_some()).collect();
                assert_eq!(there.len() as u64, part.there());
                for chunk in there {
                    let hash = *part.hash(chunk).expect("just seen");
                    assert_eq!(*blake3::hash(&part.read(chunk).expect("it is there")).as_bytes(), hash);
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Records of these bytes behind a header: of each 33 bytes the first is the chunk, the others are its hash,
/// and the hash of the chunk that is there where they are zeros.
fn checked(header: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut journal = header.to_vec();
    for piece in bytes.chunks(33) {
        let mut record = [0; 40];
        record[0] = piece[0];
        record[8..7 + piece.len()].copy_from_slice(&piece[1..]);
        if record[8..].iter().all(|byte| *byte == 0) {
            record[8..].copy_from_slice(blake3::hash(&[7; CHUNK as usize]).as_bytes());
        }
        let check = blake3::Hasher::new().update(header).update(&record).finalize();
        journal.extend(record);
        journal.extend(&check.as_bytes()[..8]);
    }
    journal
}
