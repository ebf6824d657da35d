//! The bytes of one message as it is read.

use super::Malformed;
use crate::HostId;

/// Stands for "no host".
pub(super) const NOBODY: u32 = u32::MAX;

/// Reads a message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the content of a frame.
    #[must_use]
    pub fn new(content: &'a [u8]) -> Reader<'a> {
        Reader(content)
    }

    /// As many bytes as asked for.
    ///
    /// # Errors
    /// They are not there.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    /// It is not there.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// Yes or no.
    ///
    /// # Errors
    /// It is not there, or neither.
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// Four bytes.
    ///
    /// # Errors
    /// They are not there.
    pub fn word(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// They are not there.
    pub fn long(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    /// A host.
    ///
    /// # Errors
    /// It is not there.
    pub fn host(&mut self) -> Result<HostId, Malformed> {
        self.word().map(HostId)
    }

    /// A host, or nobody.
    ///
    /// # Errors
    /// It is not there.
    pub fn host_or_nobody(&mut self) -> Result<Option<HostId>, Malformed> {
        let host = self.host()?;
        Ok((host.0 != NOBODY).then_some(host))
    }

    /// So many bytes.
    ///
    /// # Errors
    /// They are not there.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    /// A text of at most `most` bytes.
    ///
    /// # Errors
    /// It is longer, not there, or no UTF-8.
    pub fn text(&mut self, most: usize) -> Result<String, Malformed> {
        let n = self.count(most, 1)?;
        Ok(str::from_utf8(self.bytes(n)?).map_err(|_| Malformed)?.to_owned())
    }

    /// A number of things of at least `bytes` each: at most `most`, and no more than fit what is left.
    ///
    /// # Errors
    /// There are more.
    pub fn count(&mut self, most: usize, bytes: usize) -> Result<usize, Malformed> {
        let n = self.word()? as usize;
        if n > most || n * bytes > self.0.len() { Err(Malformed) } else { Ok(n) }
    }

    /// A list of at most `most` things of at least `bytes` each.
    ///
    /// # Errors
    /// There are more, or one of them is none.
    pub fn list<T>(
        &mut self,
        most: usize,
        bytes: usize,
        each: impl Fn(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        (0..self.count(most, bytes)?).map(|_| each(self)).collect()
    }

    /// `message`, if nothing follows it.
    ///
    /// # Errors
    /// Something does.
    pub fn end<T>(self, message: T) -> Result<T, Malformed> {
        if self.0.is_empty() { Ok(message) } else { Err(Malformed) }
    }
}
