//! Messages taken off a stream one by one, alone or with the bodies that follow them.

use super::Malformed;
use crate::{Context, Payload, StreamId};

/// How a protocol frames its messages: the bytes of the length in front of each, and the longest content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    prefix: usize,
    most: usize,
}

impl Framing {
    /// A length of `prefix` bytes, and at most `most` bytes of content behind it.
    ///
    /// # Panics
    /// When such a length can't say `most`.
    #[must_use]
    pub const fn new(prefix: usize, most: usize) -> Framing {
        assert!(
            prefix >= 1 && prefix <= 4 && most < 1 << (8 * prefix),
            "the length has room for the longest"
        );
        Framing { prefix, most }
    }

    /// Bytes of the length in front of a message.
    #[must_use]
    pub const fn prefix(self) -> usize {
        self.prefix
    }

    /// Bytes that are missing of a frame of which `partial` has come.
    pub(super) fn missing(self, partial: &[u8]) -> Result<usize, Malformed> {
        let Some((prefix, rest)) = partial.split_at_checked(self.prefix) else {
            return Ok(self.prefix - partial.len());
        };
        let length = prefix.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length == 0 || length > self.most { Err(Malformed) } else { Ok(length - rest.len()) }
    }
}

/// The receiving side of a stream of frames.
#[derive(Debug)]
pub struct Frames {
    framing: Framing,
    /// What has come of the frame under way, its length included.
    partial: Vec<u8>,
    /// The peer has finished.
    pub ended: bool,
}

impl Frames {
    /// At the start of a frame.
    #[must_use]
    pub fn new(framing: Framing) -> Frames {
        Frames { framing, partial: Vec::new(), ended: false }
    }

    /// The next message, if it is there whole.
    ///
    /// # Errors
    /// What came is none.
    pub fn next<T>(
        &mut self,
        stream: StreamId,
        cx: &mut dyn Context,
        decode: impl FnOnce(&[u8]) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        loop {
            let missing = self.framing.missing(&self.partial)?;
            if missing == 0 {
                let message = decode(&self.partial[self.framing.prefix..])?;
                self.partial.clear();
                return Ok(Some(message));
            }
            let read = cx.read(stream, missing as u64);
            self.ended |= read.end;
            if read.is_empty() {
                return Ok(None);
            }
            for piece in read.data {
                match piece {
                    Payload::Data(bytes) => self.partial.extend_from_slice(&bytes),
                    Payload::Zeros(_) => return Err(Malformed),
                }
            }
        }
    }
}

/// The receiving side of a stream on which bytes that are not framed may follow a message: its body.
#[derive(Debug)]
pub struct Bodied<T> {
    frames: Frames,
    /// A message, and how much of its body is missing.
    coming: Option<(T, u64)>,
}

impl<T> Bodied<T> {
    /// At the start of a frame.
    #[must_use]
    pub fn new(framing: Framing) -> Bodied<T> {
        Bodied { frames: Frames::new(framing), coming: None }
    }

    /// Whether the peer has finished.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.frames.ended
    }

    /// The next message, if it is there whole with its body. `decode` also says how long the body is, and
    /// `keep` gets its parts as they come.
    ///
    /// # Errors
    /// What came is none.
    pub fn next(
        &mut self,
        stream: StreamId,
        cx: &mut dyn Context,
        decode: impl FnOnce(&[u8]) -> Result<(T, u64), Malformed>,
        mut keep: impl FnMut(&mut T, Vec<Payload>),
    ) -> Result<Option<T>, Malformed> {
        if self.coming.is_none() {
            self.coming = self.frames.next(stream, cx, decode)?;
        }
        while let Some((message, missing)) = &mut self.coming
            && *missing > 0
        {
            let read = cx.read(stream, *missing);
            self.frames.ended |= read.end;
            if read.is_empty() {
                return Ok(None);
            }
            *missing -= read.len();
            keep(message, read.data);
        }
        Ok(self.coming.take().map(|(message, _)| message))
    }
}
