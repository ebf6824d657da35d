//! Transactions from text: they are what the lines say, in whatever pieces they come, or a line is refused.
//! And journals of finished passes: what is read from one is written as the same bytes.

use mine::begun::Begun;
use mine::block::{Words, each};
use mine::items::{Item, Level};
use mine::journal::{self, Kept};
use mine::read::{ReadError, Reader};
use mine::transactions::Transactions;
use std::collections::BTreeSet;
use std::io::Cursor;

/// Text of transactions. The first byte is the size of the pieces.
pub fn text(bytes: &[u8]) {
    let Some((piece, text)) = bytes.split_first() else { return };
    let found = read(text, usize::from(*piece).max(1));
    match &found {
        Ok(transactions) => assert_eq!(Some(transactions), by_lines(text).as_ref(), "as the lines say"),
        Err(error) => {
            assert!(by_lines(text).is_none(), "{error}, but all lines are right");
            assert!(error.line <= 1 + text.iter().filter(|byte| **byte == b'\n').count() as u64);
        }
    }
    assert_eq!(found, read(text, text.len().max(1)), "pieces change nothing");
}

fn read(text: &[u8], piece: usize) -> Result<Vec<Vec<Item>>, ReadError> {
    let mut transactions = Transactions::default();
    let mut reader = Reader::default();
    text.chunks(piece).try_for_each(|piece| reader.feed(piece, &mut transactions))?;
    reader.finish(&mut transactions)?;
    let mut found = Vec::new();
    for block in transactions.blocks() {
        match block.words() {
            Words::Narrow(words) => {
                each(words, block.ends(), |items| {
                    found.push(items.iter().copied().map(Item::from).collect())
                });
            }
            Words::Wide(words) => each(words, block.ends(), |items| found.push(items.to_vec())),
        }
    }
    Ok(found)
}

/// The slow way; nothing when a line is wrong.
fn by_lines(text: &[u8]) -> Option<Vec<Vec<Item>>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').map(line).collect()
}

fn line(line: &[u8]) -> Option<Vec<Item>> {
    let words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|word| !word.is_empty());
    let number = |word: &[u8]| {
        let digits = word.iter().all(u8::is_ascii_digit);
        digits.then(|| str::from_utf8(word).ok()?.parse().ok()).flatten()
    };
    let items: BTreeSet<Item> = words.map(number).collect::<Option<_>>()?;
    (!items.is_empty()).then(|| items.into_iter().collect())
}

/// A journal as it is, and with a checksum that is right behind its first record.
pub fn journal(bytes: &[u8]) {
    journal_as_it_is(bytes);
    let sum = journal::checksum(bytes).to_le_bytes();
    journal_as_it_is(&[bytes, &sum].concat());
    let alone = br#"{"alone":1,"passes":[[1,null,2,1]],"rows":1}"#;
    if let Some(begun) = begun(&[&alone[..], b"\n", bytes, &sum].concat()) {
        let mut kept = Vec::new();
        journal::keep(&begun, &mut kept).expect("a vector takes it");
        assert_eq!(self::begun(&kept), Some(begun), "what is kept is read back");
    }
    _ = begun(bytes);
}

fn begun(bytes: &[u8]) -> Option<Begun> {
    Kept::open(Cursor::new(bytes.to_vec()))?.read(usize::MAX).expect("there is room")
}

fn journal_as_it_is(bytes: &[u8]) {
    let sound = journal::read(&mut &bytes[..], usize::MAX);
    let mut again = Vec::new();
    for level in &sound.levels {
        journal::write(level, &mut again).expect("a vector takes it");
    }
    assert_eq!(again, bytes[..sound.bytes as usize], "records are as they were");
    let room = sound.levels.iter().map(Level::bytes).sum::<usize>();
    if let Some(less) = room.checked_sub(1) {
        let part = journal::read(&mut &bytes[..], less);
        assert_eq!(part.levels, sound.levels[..part.levels.len()], "the first levels");
        assert_eq!(part.full, Some(part.levels.len() + 1), "the next one has no room");
    }
}
