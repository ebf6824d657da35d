//! Text of any kind, in pieces of any size.

use mine::block::{Words, each};
use mine::items::Item;
use mine::read::{Problem, ReadError, Reader};
use mine::transactions::Transactions;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn read(text: &[u8], piece: usize) -> Result<Vec<Vec<Item>>, ReadError> {
    let mut transactions = Transactions::default();
    let mut reader = Reader::default();
    for piece in text.chunks(piece) {
        reader.feed(piece, &mut transactions)?;
    }
    reader.finish(&mut transactions)?;
    let mut found = Vec::new();
    for block in transactions.blocks() {
        match block.words() {
            Words::Narrow(words) => {
                each(words, block.ends(), |items| {
                    found.push(items.iter().map(|item| Item::from(*item)).collect())
                });
            }
            Words::Wide(words) => each(words, block.ends(), |items| found.push(items.to_vec())),
        }
    }
    Ok(found)
}

#[test]
fn blanks_tabs_and_line_ends_of_windows_are_no_items() {
    let text = b"1 22 333\r\n4444  55555\t666666 \n 7777777 88888888 999999999\n4294967295 0 7 0";
    let wanted = [
        vec![1, 22, 333],
        vec![4444, 55_555, 666_666],
        vec![7_777_777, 88_888_888, 999_999_999],
        vec![0, 7, 4_294_967_295],
    ];
    for piece in [1, 3, 7, 1000] {
        assert_eq!(read(text, piece).unwrap(), wanted);
    }
    assert_eq!(read(b"", 1), Ok(vec![]));
    assert_eq!(read(b"00000000000000000007 00000001\n", 9), Ok(vec![vec![1, 7]]));
}

#[test]
fn what_is_no_item_is_named_with_its_line() {
    let word = |text: &[u8]| match read(text, 1000).unwrap_err() {
        ReadError { line: 2, problem: Problem::NotAnItem(word) } => word,
        other => panic!("{other}"),
    };
    assert_eq!(word(b"1 2\n3 -4 5\n"), "-4");
    assert_eq!(word(b"1\n1.5\n"), "1.5");
    assert_eq!(word(b"1\n2 milk 3\n"), "milk");
    assert_eq!(word(b"1\n12x\n"), "12x");
    assert_eq!(word(b"1\n4294967296\n"), "4294967296");
    assert_eq!(word(b"1\n123456789012345678901234567890\n"), "123456789012345678901234567890");
    assert_eq!(word(b"1\n12345678;9\n"), "12345678;9");
    assert_eq!(word(b"1\n\xff\xfe\n"), "\u{fffd}\u{fffd}");
    assert_eq!(word(format!("1\n{}", "x".repeat(1000)).as_bytes()), format!("{}…", "x".repeat(40)));
    for text in [&b"1\n\n2\n"[..], b"1\n \t\r\n", b"1\n "] {
        assert_eq!(read(text, 2), Err(ReadError { line: 2, problem: Problem::Empty }));
    }
}

proptest! {
    #[test]
    fn numbers_come_back(
        database in prop::collection::vec(
            prop::collection::vec(prop_oneof![any::<u32>(), 0u32..100, 0u32..10_000_000], 1..20), 0..20),
        piece in 1usize..100,
    ) {
        let line = |items: &Vec<Item>| items.iter().map(u32::to_string).collect::<Vec<_>>().join(" ") + "\n";
        let text: String = database.iter().map(line).collect();
        let sets: Vec<Vec<Item>> =
            database.iter().map(|items| BTreeSet::from_iter(items.iter().copied()).into_iter().collect()).collect();
        prop_assert_eq!(read(text.as_bytes(), piece), Ok(sets));
    }

    #[test]
    fn bytes_mean_the_same_in_pieces(text in "[0-9 \n\t,x-]{0,80}", piece in 1usize..30) {
        prop_assert_eq!(read(text.as_bytes(), piece), read(text.as_bytes(), 1000));
    }
}
