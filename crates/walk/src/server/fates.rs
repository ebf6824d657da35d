//! What becomes of walkers that have gone from a herd: they go on to other servers, or their walks have
//! ended. They are sorted without a branch that depends on chance, because a wrong guess costs as much as a
//! walker's step.

use crate::step::HERD;

/// Numbers of walkers, by what becomes of them.
#[derive(Debug)]
pub(super) struct Fates {
    going: [u8; HERD],
    own: [u8; HERD],
    others: [u8; HERD],
    counts: [usize; 3],
}

impl Default for Fates {
    fn default() -> Fates {
        Fates { going: [0; HERD], own: [0; HERD], others: [0; HERD], counts: [0; 3] }
    }
}

impl Fates {
    /// Sorts walkers, each with whether it goes on, and whether it is this server's own.
    #[inline(always)]
    pub fn sort(&mut self, walkers: impl Iterator<Item = (u8, bool, bool)>) {
        let [mut going, mut own, mut others] = [0; 3];
        for (number, goes, is_own) in walkers {
            // All are written, and one of them counts.
            self.going[going % HERD] = number;
            self.own[own % HERD] = number;
            self.others[others % HERD] = number;
            going += usize::from(goes);
            own += usize::from(!goes & is_own);
            others += usize::from(!goes & !is_own);
        }
        self.counts = [going, own, others];
    }

    /// Walkers that go on.
    pub fn going(&self) -> &[u8] {
        &self.going[..self.counts[0]]
    }

    /// Whose walk has ended, and began here.
    pub fn own(&self) -> &[u8] {
        &self.own[..self.counts[1]]
    }

    /// Whose walk has ended, and began elsewhere.
    pub fn others(&self) -> &[u8] {
        &self.others[..self.counts[2]]
    }
}
