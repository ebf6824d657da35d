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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use farmem::wire::{Head, Kind};

    fn page(at: usize) -> usize {
        layout::start() + at * BASE
    }

    fn range(first: usize, count: usize) -> Range {
        Range { start: page(first), bytes: count * BASE }
    }

    /// The first page and the number of pages of each message.
    fn messages(leaving: &Leaving) -> Vec<(u64, u32)> {
        let mut announced = Vec::new();
        leaving.announce(&Client::default(), &mut announced);
        let (mut left, mut seen) = (&announced[..], Vec::new());
        while let Some((head, rest)) = left.split_first_chunk::<HEAD>() {
            let head = Head::decode(head).expect("a head");
            assert_eq!(head.kind, Kind::Write);
            seen.push((head.page, head.count));
            left = &rest[head.count as usize * LENGTH..];
        }
        seen
    }

    #[test]
    fn neighbours_are_one_message_up_to_its_most_pages() {
        alone!({
            let mut leaving = Leaving::default();
            [4, 5, 6, 9].into_iter().for_each(|at| leaving.put(page(at)));
            assert_eq!((messages(&leaving), leaving.bytes()), (vec![(4, 3), (9, 1)], 4 * BASE));
            leaving.sent();
            assert!(leaving.is_empty() && leaving.bytes() == 0);
            let most = PAGES_MAX as usize;
            (0..=most).for_each(|at| leaving.put(page(at)));
            assert_eq!(messages(&leaving), [(0, PAGES_MAX), (most as u64, 1)]);
        });
    }

    #[test]
    fn what_is_given_up_leaves_what_lies_around_it() {
        alone!({
            let (mut leaving, client) = (Leaving::default(), Client::default());
            (0..5).for_each(|at| leaving.put(page(at)));
            leaving.put_packed(page(7), &[1, 2, 3], &client);
            leaving.put_packed(page(8), &[4], &client);
            assert!(leaving.holds(range(4, 1)) && leaving.holds(range(7, 1)) && !leaving.holds(range(5, 2)));
            leaving.forget(range(2, 1));
            leaving.forget(range(7, 1));
            assert_eq!(messages(&leaving), [(0, 2), (3, 2)]);
            assert!(!leaving.holds(range(2, 1)) && !leaving.holds(range(7, 1)) && leaving.holds(range(8, 1)));
        });
    }

    #[test]
    fn the_bytes_that_are_sent_are_each_message_and_its_pages() {
        alone!({
            let (mut leaving, client) = (Leaving::default(), Client::default());
            // SAFETY: addresses that were reserved, and that only this test uses.
            unsafe { (layout::mirror(page(1)) as *mut [u8; BASE]).write([9; BASE]) };
            leaving.put(page(1));
            leaving.put_packed(page(3), &[4, 5], &client);
            let (mut announced, mut pieces) = (Vec::new(), Vec::new());
            leaving.announce(&client, &mut announced);
            leaving.slices(&announced, &mut pieces);
            let sent = pieces.iter().flat_map(|piece| piece.to_vec()).collect::<Vec<u8>>();
            let mut wanted = client.write(1, 1).to_vec();
            wanted.extend([0x10, 0]);
            wanted.extend([9; BASE]);
            wanted.extend(client.write(3, 1));
            wanted.extend([0, 2, 4, 5]);
            assert_eq!(sent, wanted);
        });
    }
}
