//! What is written is read again, and what isn't whole is none.

use super::frames::Framing;
use super::{Malformed, Reader, Writer};
use crate::HostId;
use proptest::prelude::*;

const FRAMING: Framing = Framing::new(2, 1000);

#[test]
fn everything_comes_back() {
    let mut w = Writer::new(FRAMING);
    w.byte(7).flag(true).word(1 << 20).long(1 << 40).host(HostId(3)).host_or_nobody(None).bytes(&[1, 2]);
    w.text("für alle", 1000).list([5u32, 6].into_iter(), Writer::word);
    let frame = w.finish();
    assert_eq!(usize::from(u16::from_le_bytes([frame[0], frame[1]])), frame.len() - 2);
    let mut r = Reader::new(&frame[2..]);
    assert_eq!((r.byte(), r.flag(), r.word(), r.long()), (Ok(7), Ok(true), Ok(1 << 20), Ok(1 << 40)));
    assert_eq!((r.host(), r.host_or_nobody(), r.take()), (Ok(HostId(3)), Ok(None), Ok([1, 2])));
    assert_eq!(r.text(1000).as_deref(), Ok("für alle"));
    assert_eq!(r.list(2, 4, Reader::word), Ok(vec![5, 6]));
    assert_eq!(r.end(()), Ok(()));
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let mut w = Writer::new(FRAMING);
    w.list([5u32, 6].into_iter(), Writer::word);
    let frame = w.finish();
    let reader = Reader::new(&frame[2..]);
    assert_eq!(reader.clone().list(1, 4, Reader::word), Err(Malformed), "more than allowed");
    assert_eq!(reader.clone().count(9, 5), Err(Malformed), "more than there is");
    assert_eq!(reader.end(()), Err(Malformed), "something follows");
    assert_eq!(Reader::new(&[2]).flag(), Err(Malformed));
}

#[test]
fn texts_are_cut_between_characters() {
    let mut w = Writer::new(FRAMING);
    w.text("üü", 3);
    let frame = w.finish();
    assert_eq!(Reader::new(&frame[2..]).text(3).as_deref(), Ok("ü"));
}

#[test]
fn a_frame_is_read_to_its_end_and_no_further() {
    for framing in [FRAMING, Framing::new(4, 1000)] {
        let mut w = Writer::new(framing);
        w.bytes(&[9; 300]);
        let frame = w.finish();
        let missing = |came: usize| framing.missing(&frame[..came]);
        assert_eq!(missing(0), Ok(framing.prefix()));
        assert_eq!(missing(1), Ok(framing.prefix() - 1));
        assert_eq!(missing(framing.prefix()), Ok(300));
        assert_eq!(missing(frame.len() - 1), Ok(1));
        assert_eq!(missing(frame.len()), Ok(0));
    }
    assert_eq!(FRAMING.missing(&[0, 0]), Err(Malformed), "no message is empty");
    assert_eq!(FRAMING.missing(&1001u16.to_le_bytes()), Err(Malformed), "none is longer");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut r = Reader::new(&bytes);
        let text = r.text(50);
        prop_assert!(text.is_err() || text.unwrap().len() <= 50);
        let list = r.list(10, 8, |r| Ok((r.host()?, r.host_or_nobody()?)));
        prop_assert!(list.is_err() || list.unwrap().len() <= 10);
    }
}
