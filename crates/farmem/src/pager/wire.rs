//! Messages between programs and memory nodes on a stream, framed by [`process::wire`]. Pages follow their
//! message as they are. Every byte is hostile: impossible values are [`Malformed`], and the pages of a
//! message have a largest size.

use super::settings::REQUEST_MAX;
use process::wire::{Framing, Malformed, Reader, Writer};

/// Frames are short: what is long follows them.
pub(super) const FRAMING: Framing = Framing::new(1, 32);
/// A page's number and its length, before each page that is sent back.
pub(super) const NUMBER: u64 = 12;
const PAGE_MAX: u32 = 2 << 20;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// These pages, please: so many from this one on, of so many bytes each as they travel.
    Fetch { page: u64, pages: u32, bytes: u32 },
    /// They follow.
    Pages { pages: u32, bytes: u32 },
    /// These are to be kept: they follow, each behind its number and its length.
    Keep { pages: u32, bytes: u32 },
    /// So many are kept.
    Kept { pages: u32 },
}

impl Message {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new(FRAMING);
        match *self {
            Message::Fetch { page, pages, bytes } => w.byte(1).long(page).word(pages).word(bytes),
            Message::Pages { pages, bytes } => w.byte(2).word(pages).word(bytes),
            Message::Keep { pages, bytes } => w.byte(3).word(pages).word(bytes),
            Message::Kept { pages } => w.byte(4).word(pages),
        };
        w.finish()
    }

    /// The message in a frame's content.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn decode(content: &[u8]) -> Result<Message, Malformed> {
        let mut r = Reader::new(content);
        let message = match r.byte()? {
            1 => Message::Fetch { page: r.long()?, pages: pages(&mut r)?, bytes: bytes(&mut r)? },
            2 => Message::Pages { pages: pages(&mut r)?, bytes: bytes(&mut r)? },
            3 => Message::Keep { pages: pages(&mut r)?, bytes: bytes(&mut r)? },
            4 => Message::Kept { pages: pages(&mut r)? },
            _ => return Err(Malformed),
        };
        r.end(message)
    }

    /// Bytes of it and of what follows it.
    pub(super) fn bytes(&self) -> u64 {
        self.encode().len() as u64 + self.body()
    }

    /// Bytes that follow it.
    pub(super) fn body(&self) -> u64 {
        match *self {
            Message::Pages { pages, bytes } => u64::from(pages) * u64::from(bytes),
            Message::Keep { pages, bytes } => u64::from(pages) * (NUMBER + u64::from(bytes)),
            Message::Fetch { .. } | Message::Kept { .. } => 0,
        }
    }
}

fn pages(r: &mut Reader<'_>) -> Result<u32, Malformed> {
    within(r, REQUEST_MAX)
}

fn bytes(r: &mut Reader<'_>) -> Result<u32, Malformed> {
    within(r, PAGE_MAX)
}

fn within(r: &mut Reader<'_>, most: u32) -> Result<u32, Malformed> {
    let number = r.word()?;
    if (1..=most).contains(&number) { Ok(number) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_come_back_and_nothing_else_does() {
        let all = [
            Message::Fetch { page: u64::MAX, pages: 1, bytes: PAGE_MAX },
            Message::Pages { pages: REQUEST_MAX, bytes: 1 },
            Message::Keep { pages: 2, bytes: 4096 },
            Message::Kept { pages: 2 },
        ];
        for message in all {
            let frame = message.encode();
            let content = &frame[FRAMING.prefix()..];
            assert_eq!(Message::decode(content), Ok(message));
            assert!(Message::decode(&content[..content.len() - 1]).is_err(), "{message:?}");
            assert!(Message::decode(&[content, &[0]].concat()).is_err(), "{message:?}");
        }
        let refused = [
            Message::Fetch { page: 0, pages: 0, bytes: 1 },
            Message::Pages { pages: REQUEST_MAX + 1, bytes: 1 },
            Message::Keep { pages: 1, bytes: PAGE_MAX + 1 },
            Message::Kept { pages: 0 },
        ];
        for message in refused {
            assert_eq!(Message::decode(&message.encode()[FRAMING.prefix()..]), Err(Malformed), "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40), kind in 0u8..6) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()[FRAMING.prefix()..]), Ok(message));
            }
        }
    }
}
