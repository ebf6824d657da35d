//! Many walkers of the first order at once on a server's part. All take a step at a time. One that has come
//! to the end of its walk, or to a node of another server, is set aside without a branch that depends on
//! chance. While one walker's arc comes from memory the others move. The decisions are those of
//! [`Rule::hop`], walker for walker.

use crate::graph::{Arc, Columns, Row};
use crate::partition::ServerPart;

use super::{DeadEnd, Rule, Stream};

/// Walkers of a herd: as many as hide each other's cache misses, and the first-level cache holds; a byte
/// numbers them.
pub const HERD: usize = 256;

/// A walker in a herd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// What it draws from.
    pub stream: Stream,
    /// The node where it is.
    pub at: u32,
    /// Steps that it has taken in the herd.
    pub steps: u32,
    /// Steps that its walk had left when it joined; fewer when it has met a dead end.
    pub left: u32,
    /// The row of `at` in the part.
    row: u32,
}

/// Walkers that move together, in memory that is used again.
#[derive(Clone, Debug)]
pub struct Herd {
    lanes: [Lane; HERD],
    /// Numbers of those that move, and of those that have gone, in the order in which they went.
    moving: [u8; HERD],
    gone: [u8; HERD],
    active: usize,
    count: usize,
}

impl Default for Herd {
    fn default() -> Herd {
        Herd { lanes: [Lane::default(); HERD], moving: [0; HERD], gone: [0; HERD], active: 0, count: 0 }
    }
}

impl Herd {
    /// Forgets those that have gone.
    pub fn clear(&mut self) {
        (self.active, self.count) = (0, 0);
    }

    /// A walker joins at a node of `part`, with so many steps left; they are numbered as they come. One that
    /// is nowhere on the part, or at the end of its walk, has gone already.
    ///
    /// # Panics
    /// When there are [`HERD`] of them.
    #[inline]
    pub fn join(&mut self, part: &ServerPart, at: u32, left: u32, stream: Stream) {
        let number = self.active + self.count;
        let row = part.row(at);
        self.lanes[number] = Lane { stream, at, steps: 0, left, row: row.unwrap_or_default() };
        let moves = row.is_some() & (left > 0);
        // Both are written, and one of them counts.
        self.moving[self.active % HERD] = number as u8;
        self.gone[self.count % HERD] = number as u8;
        self.active += usize::from(moves);
        self.count += usize::from(!moves);
    }

    /// Those that have gone, with their numbers: to the ends of their walks (`steps` is `left`), or to other
    /// servers.
    #[inline]
    pub fn gone(&self) -> impl Iterator<Item = (u8, &Lane)> {
        self.gone[..self.count].iter().map(|&number| (number, &self.lanes[usize::from(number)]))
    }
}

impl Rule {
    /// Whether walkers can move in a [`Herd`]: a step depends on nothing but the node.
    pub fn herds(&self) -> bool {
        !self.second_order() && self.restart == 0 && self.dead_end == DeadEnd::Stop
    }

    /// Moves all walkers of a herd until they have gone.
    pub fn drive(&self, part: &ServerPart, herd: &mut Herd) {
        let rows = part.rows().rows();
        match (part.rows().columns(), part.consecutive()) {
            (Columns::Even(arcs), Some((first, count))) => drive(rows, arcs, herd, |node| {
                let row = node.wrapping_sub(first);
                (row < count).then_some(row)
            }),
            (Columns::Even(arcs), None) => drive(rows, arcs, herd, |node| part.row(node)),
            (Columns::Weighted(arcs, _), _) => drive(rows, arcs, herd, |node| part.row(node)),
        }
    }
}

#[inline(always)]
fn drive<A: Arc>(rows: &[Row], arcs: &[A], herd: &mut Herd, row_of: impl Fn(u32) -> Option<u32>) {
    let Herd { lanes, moving, gone, active, count } = herd;
    let (mut round, mut still, mut out) = (0, *active, *count);
    while still > 0 {
        round += 1;
        let mut kept = 0;
        for index in 0..still {
            let number = moving[index % HERD];
            let lane = &mut lanes[usize::from(number)];
            let row = rows[lane.row as usize];
            let stays = if row.degree() == 0 {
                (lane.left, lane.steps) = (round - 1, round - 1);
                false
            } else {
                let (arc, fraction) = row.draw(lane.stream.next());
                let at = arcs[arc].pick_kept(A::keep(fraction));
                let own = row_of(at);
                (lane.at, lane.steps, lane.row) = (at, round, own.unwrap_or_default());
                own.is_some() & (round < lane.left)
            };
            // Both are written, and one of them counts.
            moving[kept % HERD] = number;
            gone[out % HERD] = number;
            kept += usize::from(stays);
            out += usize::from(!stays);
        }
        still = kept;
    }
    (*active, *count) = (still, out);
}
