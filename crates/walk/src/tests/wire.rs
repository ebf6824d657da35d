//! Datagrams read back as they were written, and nothing else is taken for one.

use super::*;
use proptest::prelude::*;

fn id() -> impl Strategy<Value = WalkId> {
    (0..NO_NODE, any::<u32>(), 1..=u16::MAX, any::<u16>(), any::<u64>()).prop_map(
        |(start, number, attempt, epoch, born_ns)| WalkId { start, number, attempt, epoch, born_ns },
    )
}

/// A path of `start` to `at` with what lies between.
fn path() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![Just(Vec::new()), proptest::collection::vec(0..NO_NODE, 1..20)]
}

fn record() -> impl Strategy<Value = Record> {
    let node = || proptest::option::of(0..NO_NODE);
    let walker = (id(), any::<u16>(), 0..NO_NODE, node(), node(), any::<(u32, u64)>(), path()).prop_map(
        |(mut id, source, mut at, previous, candidate, (mut steps, random), path)| {
            if let [first, .., last] | [first @ last] = path[..] {
                (id.start, at, steps) = (first, last, path.len() as u32 - 1);
            }
            Record::Walker(Walker { id, source, at, previous, candidate, steps, random, path })
        },
    );
    let ended = (id(), 0..NO_NODE, any::<u32>(), path()).prop_map(|(mut id, mut end, mut steps, path)| {
        if let [first, .., last] | [first @ last] = path[..] {
            (id.start, end, steps) = (first, last, path.len() as u32 - 1);
        }
        Record::Ended(Ended { id, end, steps, path })
    });
    prop_oneof![walker, ended, id().prop_map(Record::Dropped)]
}

fn codec(sealed: bool) -> Codec {
    Codec { job: 7, server: 2, key: sealed.then(|| Key::new([9; 16])) }
}

fn decode(codec: &Codec, datagram: &[u8]) -> Result<(u16, Vec<Record>), Refused> {
    let mut records = vec![walker()];
    let result = codec.decode(datagram, &mut records);
    assert!(result.is_ok() || records.is_empty());
    result.map(|from| (from, records))
}

fn walker() -> Record {
    let id = WalkId { start: 1, number: 2, attempt: 1, epoch: 0, born_ns: 3 };
    Record::Walker(Walker {
        id,
        source: 0,
        at: 4,
        previous: None,
        candidate: None,
        steps: 5,
        random: 6,
        path: Vec::new(),
    })
}

#[test]
fn a_walker_under_a_key_is_a_datagram_of_64_bytes() {
    assert_eq!(codec(true).encode(&[walker()]).len(), 64);
}

#[test]
fn each_refusal_says_why() {
    let good = codec(false).encode(&[walker()]);
    let changed = |at: usize, to: u8| {
        let mut bad = good.clone();
        bad[at] = to;
        decode(&codec(false), &bad).unwrap_err()
    };
    assert_eq!(decode(&codec(false), &[]), Err(Refused::Foreign));
    assert_eq!(changed(0, 0), Refused::Foreign);
    assert_eq!(changed(2, 9), Refused::Version(9));
    assert_eq!(changed(3, 1), Refused::Tag, "a tag that nobody has a key for");
    assert_eq!(changed(4, 8), Refused::Job);
    assert_eq!(changed(12, 0), Refused::Malformed, "another length");
    assert_eq!(changed(16, 77), Refused::Malformed, "no such kind");
    assert_eq!(changed(17, 128), Refused::Malformed, "no such flag");
    assert_eq!(changed(18, 0), Refused::Malformed, "attempts count from 1");
    assert_eq!(decode(&codec(true), &good), Err(Refused::Tag));
    let sealed = codec(true).encode(&[walker()]);
    assert_eq!(decode(&codec(false), &sealed), Err(Refused::Tag));
    assert_eq!(decode(&Codec { key: Some(Key::new([8; 16])), ..codec(true) }, &sealed), Err(Refused::Tag));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(records in proptest::collection::vec(record(), 0..9), sealed: bool) {
        let codec = codec(sealed);
        let datagram = codec.encode(&records);
        let length = records.iter().map(Record::bytes).sum::<usize>() + codec.overhead();
        prop_assert_eq!(datagram.len(), length);
        prop_assert_eq!(decode(&codec, &datagram), Ok((2, records)));
    }

    #[test]
    fn under_a_key_no_other_bytes_are_taken(
        records in proptest::collection::vec(record(), 1..4), at: prop::sample::Index, xor in 1u8.., cut: prop::sample::Index
    ) {
        let codec = codec(true);
        let good = codec.encode(&records);
        let mut bad = good.clone();
        let at = at.index(bad.len());
        bad[at] ^= xor;
        prop_assert!(decode(&codec, &bad).is_err());
        prop_assert!(decode(&codec, &good[..cut.index(good.len())]).is_err());
        bad = [&good[..], &[0]].concat();
        prop_assert!(decode(&codec, &bad).is_err());
    }

    #[test]
    fn any_bytes_are_decoded_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&codec(false), &bytes);
        let _ = decode(&codec(true), &bytes);
    }

    #[test]
    fn damaged_datagrams_without_a_key_read_back_as_they_are(
        records in proptest::collection::vec(record(), 1..4), at: prop::sample::Index, to: u8
    ) {
        let codec = codec(false);
        let mut bytes = codec.encode(&records);
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok((from, records)) = decode(&codec, &bytes) {
            prop_assert_eq!(Codec { server: from, ..codec }.encode(&records), bytes);
        }
    }
}
