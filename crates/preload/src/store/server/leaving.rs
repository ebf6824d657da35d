//! Pages that left and are not yet sent: as they are, in the mirror, or packed, behind what announces them.

use crate::layout::{self, BASE};
use crate::store::empty_mirror;
use farmem::wire::client::Client;
use farmem::wire::{HEAD, LENGTH, PAGES_MAX, lengths};
use std::io::IoSlice;
use std::ops;
use sys::userfaultfd::Range;

/// What is sent as one message.
enum Piece {
    /// Pages in the mirror.
    Mirror(Range),
    /// A page at this address, and where its whole message is in the room.
    Packed(usize, ops::Range<usize>),
}

/// All of them, in their order.
#[derive(Default)]
pub(super) struct Leaving {
    pieces: Vec<Piece>,
    /// Messages of packed pages.
    room: Vec<u8>,
    /// Bytes of pages that were put in since the last were sent.
    bytes: usize,
}

impl Leaving {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of pages, as the program has them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A page in the mirror, which stays there until it is sent.
    pub(super) fn put(&mut self, address: usize) {
        self.bytes += BASE;
        match self.pieces.last_mut() {
            Some(Piece::Mirror(last))
                if last.start + last.bytes == address && count(*last) < PAGES_MAX as usize =>
            {
                last.bytes += BASE;
            }
            _ => self.pieces.push(Piece::Mirror(Range { start: address, bytes: BASE })),
        }
    }

    /// A page as it travels.
    pub(super) fn put_packed(&mut self, address: usize, packed: &[u8], client: &Client) {
        self.bytes += BASE;
        let start = self.room.len();
        self.room.extend(client.write(super::number(address), 1));
        lengths::put([packed.len()], &mut self.room);
        self.room.extend(packed);
        self.pieces.push(Piece::Packed(address, start..self.room.len()));
    }

    /// Whether a page of the range is among them.
    pub(super) fn holds(&self, range: Range) -> bool {
        let inside = |start, bytes| start < range.start + range.bytes && range.start < start + bytes;
        self.pieces.iter().any(|piece| match piece {
            Piece::Mirror(run) => inside(run.start, run.bytes),
            Piece::Packed(address, _) => inside(*address, BASE),
        })
    }

    /// Pages of the range are no longer to be sent.
    pub(super) fn forget(&mut self, range: Range) {
        let end = range.start + range.bytes;
        for piece in std::mem::take(&mut self.pieces) {
            match piece {
                Piece::Mirror(run) => {
                    let parts = [part(run, 0, range.start), part(run, end, usize::MAX)];
                    self.pieces.extend(parts.into_iter().flatten().map(Piece::Mirror));
                }
                Piece::Packed(address, _) if (range.start..end).contains(&address) => {}
                packed => self.pieces.push(packed),
            }
        }
    }

    /// What announces pages in the mirror, one message behind the other.
    pub(super) fn announce(&self, client: &Client, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            if let Piece::Mirror(run) = piece {
                out.extend(client.write(super::number(run.start), count(*run) as u32));
                lengths::put(std::iter::repeat_n(BASE, count(*run)), out);
            }
        }
    }

    /// All of it as it is sent, with what was announced.
    pub(super) fn slices<'a>(&'a self, mut announced: &'a [u8], out: &mut Vec<IoSlice<'a>>) {
        for piece in &self.pieces {
            match piece {
                Piece::Mirror(run) => {
                    let (head, rest) = announced.split_at(HEAD + LENGTH * count(*run));
                    announced = rest;
                    let at = layout::mirror(run.start) as *const u8;
                    // SAFETY: the pages are in the mirror, where nobody writes, until they are dropped in
                    // `sent`.
                    let pages = unsafe { std::slice::from_raw_parts(at, run.bytes) };
                    out.extend([IoSlice::new(head), IoSlice::new(pages)]);
                }
                Piece::Packed(_, at) => out.push(IoSlice::new(&self.room[at.clone()])),
            }
        }
    }

    /// All of it is sent.
    pub(super) fn sent(&mut self) {
        for piece in self.pieces.drain(..) {
            if let Piece::Mirror(run) = piece {
                empty_mirror(run);
            }
        }
        self.room.clear();
        self.bytes = 0;
    }
}

fn count(run: Range) -> usize {
    run.bytes / BASE
}

/// Part of a range from one address to another, if there is any.
fn part(range: Range, from: usize, to: usize) -> Option<Range> {
    let (from, to) = (from.max(range.start), to.min(range.start + range.bytes));
    (from < to).then(|| Range { start: from, bytes: to - from })
}
