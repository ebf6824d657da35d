//! One row of a graph in one word: where its arcs begin (40 bits) and how many they are (24 bits), so that a
//! step reads one word before it reads the arc. A graph has at most 2^40 arcs, a node at most 2^24 - 1.

/// Arcs that all rows together can hold.
pub const ARCS_MAX: u64 = 1 << 40;
/// Arcs that one row can hold.
pub const DEGREE_MAX: u64 = (1 << DEGREE_BITS) - 1;

const DEGREE_BITS: u32 = 24;

/// Where the arcs of a node are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row(u64);

impl Row {
    /// The row of `degree` arcs from `offset` on. Callers have checked both limits.
    #[inline]
    pub(crate) fn new(offset: usize, degree: usize) -> Self {
        debug_assert!((offset as u64) < ARCS_MAX && degree as u64 <= DEGREE_MAX);
        Self((offset as u64) << DEGREE_BITS | degree as u64)
    }

    /// The position of its first arc.
    #[inline(always)]
    pub fn offset(self) -> usize {
        (self.0 >> DEGREE_BITS) as usize
    }

    /// How many arcs it has.
    #[inline(always)]
    pub fn degree(self) -> u32 {
        (self.0 & DEGREE_MAX) as u32
    }

    /// The positions of its arcs.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        self.offset()..self.offset() + self.degree() as usize
    }

    /// An arc chosen evenly by 64 random bits (multiply-shift), and the bits that the choice left over: at
    /// least 40 good ones, at the top.
    #[inline(always)]
    pub fn draw(self, random: u64) -> (usize, u64) {
        let product = u128::from(random) * u128::from(self.degree());
        (self.offset() + (product >> 64) as usize, product as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_the_largest_offset_and_degree() {
        let row = Row::new((ARCS_MAX - 1) as usize, DEGREE_MAX as usize);
        assert_eq!((row.offset() as u64, u64::from(row.degree())), (ARCS_MAX - 1, DEGREE_MAX));
    }

    #[test]
    fn draws_cover_the_row_and_nothing_else() {
        let row = Row::new(10, 3);
        assert_eq!(row.draw(0), (10, 0));
        assert_eq!(row.draw(u64::MAX / 3 + 1).0, 11);
        assert_eq!(row.draw(u64::MAX).0, 12);
    }
}
