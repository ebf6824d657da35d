//! What is in the bodies of messages. Numbers ascend and are kept as differences; they and counts take as
//! many bytes as they need (LEB128: seven bits a byte, the lowest first). Itemsets are words of four bytes,
//! as in the document's messages.

use crate::items::Level;
use process::wire::Malformed;

/// Appends a number of up to five bytes.
pub(crate) fn put(out: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Takes such a number off.
fn take(bytes: &mut &[u8]) -> Result<u32, Malformed> {
    let mut n = 0u64;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(n).map_err(|_| Malformed);
        }
    }
    Err(Malformed)
}

/// Ascending numbers with their counts, or without; exactly so many.
pub(crate) fn numbers(mut bytes: &[u8], entries: u32, counted: bool) -> Result<Vec<(u32, u32)>, Malformed> {
    let mut found: Vec<(u32, u32)> = Vec::with_capacity(entries as usize);
    for _ in 0..entries {
        let more = take(&mut bytes)?;
        let number = match found.last() {
            None => more,
            Some((last, _)) if more > 0 => last.checked_add(more).ok_or(Malformed)?,
            Some(_) => return Err(Malformed),
        };
        found.push((number, if counted { take(&mut bytes)? } else { 0 }));
    }
    if bytes.is_empty() { Ok(found) } else { Err(Malformed) }
}

/// Words, `length` of them an entry; exactly so many.
pub(crate) fn words(bytes: &[u8], entries: u32, length: usize) -> Result<Vec<u32>, Malformed> {
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() || words.len() != entries as usize * length {
        return Err(Malformed);
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Appends an itemset and its count.
pub(crate) fn put_itemset(out: &mut Vec<u8>, itemset: &[u32], count: u32) {
    itemset.iter().chain([&count]).for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Itemsets of a level and their counts, in bodies of up to `room` bytes, one at least.
pub(crate) fn itemsets(level: &Level, room: usize) -> Vec<Vec<u8>> {
    let mut bodies = vec![Vec::new()];
    let size = (level.length() + 1) * size_of::<u32>();
    for (itemset, count) in level.iter() {
        let mut last = bodies.last_mut().expect("one is there");
        if !last.is_empty() && last.len() + size > room {
            bodies.push(Vec::new());
            last = bodies.last_mut().expect("it was just pushed");
        }
        put_itemset(last, itemset, u32::try_from(count).unwrap_or(u32::MAX));
    }
    bodies
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_ascend_or_is_cut_or_too_much_is_refused() {
        let mut bytes = Vec::new();
        [3u32, 300, 4, u32::MAX - 3].into_iter().for_each(|n| put(&mut bytes, n));
        assert_eq!(numbers(&bytes, 2, true), Ok(vec![(3, 300), (7, u32::MAX - 3)]));
        assert_eq!(numbers(&bytes, 4, false), Err(Malformed), "beyond 2^32");
        assert_eq!(numbers(&bytes, 1, true), Err(Malformed), "something follows");
        assert_eq!(numbers(&bytes[..bytes.len() - 1], 2, true), Err(Malformed));
        assert_eq!(numbers(&[1, 0], 2, false), Err(Malformed), "twice the same");
        assert_eq!(numbers(&[0xff, 0xff, 0xff, 0xff, 0x7f], 1, false), Err(Malformed));
        assert_eq!(words(&[1, 0, 0, 0, 2, 0, 0, 0], 1, 2), Ok(vec![1, 2]));
        assert_eq!(words(&[1, 0, 0, 0, 2], 1, 1), Err(Malformed));
    }

    proptest! {
        #[test]
        fn numbers_come_back(entries: std::collections::BTreeMap<u32, u32>) {
            let mut bytes = Vec::new();
            let mut before = 0;
            for (number, count) in &entries {
                put(&mut bytes, number - before);
                put(&mut bytes, *count);
                before = *number;
            }
            let found = numbers(&bytes, entries.len() as u32, true).unwrap();
            prop_assert_eq!(found, entries.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_numbers_or_none(bytes: Vec<u8>, entries in 0u32..20, counted: bool) {
            if let Ok(found) = numbers(&bytes, entries, counted) {
                prop_assert!(found.is_sorted_by(|a, b| a.0 < b.0) && found.len() == entries as usize);
            }
        }
    }
}
