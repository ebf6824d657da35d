//! Pages through both codecs: what was packed comes back, smaller or not at all; what was not packed does no
//! harm.

use farmem::codec::{Codec, Damaged, Packer};
use farmem::wire::PAGE;
use proptest::prelude::*;

/// A page as programs have them: zeros, text, integers, floats, noise.
fn pages() -> impl Strategy<Value = [u8; PAGE]> {
    let words = |word: fn(u64, usize) -> [u8; 8]| {
        any::<u64>().prop_map(move |seed| {
            let mut page = [0; PAGE];
            page.as_chunks_mut::<8>()
                .0
                .iter_mut()
                .enumerate()
                .for_each(|(at, bytes)| *bytes = word(seed, at));
            page
        })
    };
    prop_oneof![
        any::<u8>().prop_map(|byte| [byte; PAGE]),
        words(|seed, at| ((seed % 1000) + at as u64).to_le_bytes()),
        words(|seed, at| ((seed % 1000) as f64 + (at as f64).sin()).to_le_bytes()),
        words(|seed, at| if (at + seed as usize).is_multiple_of(3) { *b"remote, " } else { *b"memory; " }),
        words(|seed, at| mixed(seed.wrapping_add(at as u64)).to_le_bytes()),
        (words(|seed, at| mixed(seed ^ at as u64).to_le_bytes()), 0..PAGE).prop_map(|(mut page, zeros)| {
            page[..zeros].fill(0);
            page
        }),
    ]
}

/// Noise (Steele et al., SplitMix, 2014).
fn mixed(seed: u64) -> u64 {
    let word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

fn codecs() -> impl Strategy<Value = Codec> {
    prop_oneof![Just(Codec::Lz4), Just(Codec::Zstd)]
}

proptest! {
    #[test]
    fn a_page_comes_back(codec in codecs(), pages in proptest::collection::vec(pages(), 1..8)) {
        let mut packer = Packer::new(codec);
        for page in pages {
            let Some(packed) = packer.pack(&page).map(<[u8]>::to_vec) else { continue };
            prop_assert!(!packed.is_empty() && packed.len() < PAGE);
            let mut back = [0xa5; PAGE];
            prop_assert_eq!(packer.unpack(&packed, &mut back), Ok(()));
            prop_assert!(back == page);
        }
    }

    #[test]
    fn damaged_ones_are_found_or_are_a_page(
        codec in codecs(), page in pages(), at: prop::sample::Index, bit in 0u8..8, cut: prop::sample::Index, more in 0usize..3
    ) {
        let mut packer = Packer::new(codec);
        let mut packed = packer.pack(&page).unwrap_or(&page).to_vec();
        let at = at.index(packed.len());
        packed[at] ^= 1 << bit;
        let mut back = [0; PAGE];
        // Neither has a checksum: what can be unpacked is a page, and nothing is written beyond it.
        let _ = packer.unpack(&packed, &mut back);
        let whole = packer.pack(&page).map(<[u8]>::to_vec);
        if let Some(whole) = whole {
            prop_assert_eq!(packer.unpack(&whole[..cut.index(whole.len())], &mut back), Err(Damaged));
            let longer = [&whole[..], &vec![7; more][..]].concat();
            prop_assert_eq!(packer.unpack(&longer, &mut back).is_ok(), more == 0);
            prop_assert_eq!(packer.unpack(&whole, &mut back), Ok(()));
            prop_assert!(back == page, "what was damaged before changes nothing");
        }
    }
}

#[test]
fn what_repeats_gets_smaller_and_noise_does_not() {
    let noise = std::array::from_fn(|at| mixed(at as u64) as u8);
    for codec in Codec::ALL {
        let mut packer = Packer::new(codec);
        assert!(packer.pack(&[0; PAGE]).is_some_and(|packed| packed.len() < 64), "{codec:?}");
        assert_eq!(packer.pack(&noise), None, "{codec:?}");
    }
}

#[test]
fn more_than_a_page_is_none() {
    // A megabyte of zeros in few bytes: as an LZ4 block (lengths go on with each 255), and as a Zstandard
    // frame with a repeated byte.
    let mut lz4 = vec![0x1f, 0, 1, 0];
    lz4.extend([255; 4000]);
    lz4.extend([0, 0x50, 0, 0, 0, 0, 0]);
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0x10, 0, 0x03, 0, 0x10, 0];
    for (codec, bomb) in [(Codec::Lz4, &lz4[..]), (Codec::Zstd, &zstd[..])] {
        assert_eq!(Packer::new(codec).unpack(bomb, &mut [0; PAGE]), Err(Damaged), "{codec:?}");
    }
}

#[test]
fn less_than_a_page_is_none() {
    for codec in Codec::ALL {
        let mut packer = Packer::new(codec);
        for bytes in [&[][..], &[0], &[0x10, 7], &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 9, 0, 0, 7]] {
            assert_eq!(packer.unpack(bytes, &mut [0; PAGE]), Err(Damaged), "{codec:?} {bytes:?}");
        }
    }
}
