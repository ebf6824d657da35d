//! The bytes of one message as it is written.

use super::Framing;
use crate::HostId;

/// Writes a message in its frame.
#[derive(Debug)]
pub struct Writer {
    frame: Vec<u8>,
    framing: Framing,
}

impl Writer {
    /// An empty message; its length is filled in at the end.
    #[must_use]
    pub fn new(framing: Framing) -> Writer {
        Writer { frame: vec![0; framing.prefix()], framing }
    }

    /// One byte.
    pub fn byte(&mut self, n: u8) -> &mut Writer {
        self.frame.push(n);
        self
    }

    /// Yes or no.
    pub fn flag(&mut self, yes: bool) -> &mut Writer {
        self.byte(u8::from(yes))
    }

    /// Four bytes.
    pub fn word(&mut self, n: u32) -> &mut Writer {
        self.bytes(&n.to_le_bytes())
    }

    /// Eight bytes.
    pub fn long(&mut self, n: u64) -> &mut Writer {
        self.bytes(&n.to_le_bytes())
    }

    /// A host.
    pub fn host(&mut self, host: HostId) -> &mut Writer {
        self.word(host.0)
    }

    /// A host, or nobody.
    pub fn host_or_nobody(&mut self, host: Option<HostId>) -> &mut Writer {
        self.word(host.map_or(super::reader::NOBODY, |host| host.0))
    }

    /// Bytes as they are: the reader knows how many.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        self.frame.extend_from_slice(bytes);
        self
    }

    /// A text, cut between characters when it is longer than `most` bytes.
    pub fn text(&mut self, text: &str, most: usize) -> &mut Writer {
        let end = text.floor_char_boundary(most);
        self.word(end as u32).bytes(&text.as_bytes()[..end])
    }

    /// The number of things, and each of them.
    pub fn list<T>(
        &mut self,
        things: impl ExactSizeIterator<Item = T>,
        each: impl for<'w> FnMut(&'w mut Writer, T) -> &'w mut Writer,
    ) -> &mut Writer {
        self.word(things.len() as u32);
        things.fold(self, each)
    }

    /// Zeros up to a frame of `bytes` in all.
    pub fn pad(&mut self, bytes: usize) -> &mut Writer {
        self.frame.resize(bytes, 0);
        self
    }

    /// The frame.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let prefix = self.framing.prefix();
        let length = (self.frame.len() - prefix) as u32;
        self.frame[..prefix].copy_from_slice(&length.to_le_bytes()[..prefix]);
        self.frame
    }
}
