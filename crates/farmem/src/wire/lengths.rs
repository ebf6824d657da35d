//! The lengths of the pages that follow a message: two bytes each, before all of them.

use super::{LENGTH, PAGE};

/// Appends the lengths of pages, in bytes.
pub fn put(lengths: impl IntoIterator<Item = usize>, out: &mut Vec<u8>) {
    out.extend(lengths.into_iter().flat_map(|bytes| (bytes as u16).to_be_bytes()));
}

/// Lengths that came.
#[derive(Clone, Copy, Debug)]
pub struct Lengths<'a>(&'a [[u8; LENGTH]]);

impl<'a> Lengths<'a> {
    /// None where one of them can't be: a page has a byte at least, and as many as [`PAGE`] if it travels as
    /// it is.
    pub fn read(bytes: &'a [u8]) -> Option<Lengths<'a>> {
        let (lengths, rest) = bytes.as_chunks();
        let all = Lengths(lengths);
        (rest.is_empty() && all.iter().all(|bytes| (1..=PAGE).contains(&bytes))).then_some(all)
    }

    /// Each of them.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> + 'a {
        self.0.iter().map(|bytes| usize::from(u16::from_be_bytes(*bytes)))
    }

    /// Bytes of all pages.
    pub fn total(self) -> usize {
        self.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_what_was_put() {
        let mut bytes = Vec::new();
        put([1, 700, PAGE], &mut bytes);
        let lengths = Lengths::read(&bytes).expect("all may be");
        assert_eq!(lengths.iter().collect::<Vec<_>>(), [1, 700, PAGE]);
        assert_eq!(lengths.total(), 701 + PAGE);
    }

    #[test]
    fn what_no_page_has_is_none() {
        for wrong in [&[0, 0][..], &[0x10, 1], &[0, 1, 0, 0], &[0, 1, 7]] {
            assert!(Lengths::read(wrong).is_none(), "{wrong:?}");
        }
    }
}
