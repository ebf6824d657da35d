//! What comes from the server: room for all that was asked for, so that it can always be taken.

use super::link::Link;
use farmem::wire::HEAD;

/// Bytes that came, in the order of the requests.
#[derive(Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// The first that nobody has taken.
    start: usize,
    /// Behind the last that came.
    end: usize,
    /// Behind the last that was asked for.
    expected: usize,
}

impl Inbox {
    /// So many bytes more will come. What was taken before is no longer there.
    pub(super) fn expect(&mut self, bytes: usize) {
        if self.is_idle() {
            (self.start, self.end, self.expected) = (0, 0, 0);
        } else if self.start > 0 && self.expected + bytes > self.bytes.len() {
            // Several are on their way, again and again: what was taken makes room.
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end, self.expected) = (0, self.end - self.start, self.expected - self.start);
        }
        self.expected += bytes;
        if self.bytes.len() < self.expected {
            self.bytes.resize(self.expected, 0);
        }
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.start == self.expected
    }

    /// Bytes that have come and that nobody has taken.
    pub(super) fn has(&self) -> usize {
        self.end - self.start
    }

    /// Takes in what has come; how much.
    pub(super) fn receive(&mut self, link: &Link) -> usize {
        let came = link.receive(&mut self.bytes[self.end..self.expected]);
        self.end += came;
        came
    }

    /// So many bytes of what was expected will not come. False where they have come.
    #[must_use]
    pub(super) fn expect_less(&mut self, bytes: usize) -> bool {
        self.expected -= bytes;
        self.end <= self.expected
    }

    /// The head that came first.
    pub(super) fn head(&self) -> [u8; HEAD] {
        *self.bytes[self.start..self.end].first_chunk().unwrap_or(&[0; HEAD])
    }

    /// What came behind the first head.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.start + HEAD..self.end]
    }

    /// What came first is taken; it stays until more is asked for.
    pub(super) fn take(&mut self, bytes: usize) -> &[u8] {
        let taken = &self.bytes[self.start..self.start + bytes];
        self.start += bytes;
        taken
    }
}
