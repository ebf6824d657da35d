//! Walker's alias method: an arc chosen by weight with one look-up. Each slot holds its own arc with
//! probability `keep` / 2^32, another one otherwise.
//!
//! A. J. Walker, "An efficient method for generating discrete random variables with general distributions",
//! ACM TOMS 3(3), 1977; built in linear time as M. D. Vose, IEEE TSE 17(9), 1991.

/// One slot of a row: 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The slot's own target; targets of a row ascend.
    pub target: u32,
    /// The target that the slot stands for otherwise.
    pub other: u32,
    /// How often it is its own, of 2^32.
    pub keep: u32,
}

impl Slot {
    /// The target that the top bits of `fraction` choose.
    #[inline(always)]
    pub fn pick(self, fraction: u64) -> u32 {
        if ((fraction >> 32) as u32) < self.keep { self.target } else { self.other }
    }
}

/// Memory that building needs again and again.
#[derive(Default)]
pub struct Scratch {
    scaled: Vec<f64>,
    small: Vec<u32>,
    large: Vec<u32>,
}

impl Scratch {
    /// Fills `other` and `keep` of a row's slots from its weights, all positive.
    pub fn fill(&mut self, slots: &mut [Slot], weights: impl Iterator<Item = f64>) {
        self.scaled.clear();
        self.scaled.extend(weights);
        let scale = slots.len() as f64 / self.scaled.iter().sum::<f64>();
        self.scaled.iter_mut().for_each(|weight| *weight *= scale);
        self.small.clear();
        self.large.clear();
        for (index, &share) in self.scaled.iter().enumerate() {
            if share < 1.0 { self.small.push(index as u32) } else { self.large.push(index as u32) }
        }
        while let (Some(&low), Some(&high)) = (self.small.last(), self.large.last()) {
            self.small.pop();
            let share = self.scaled[low as usize];
            slots[low as usize].keep = (share * TWO_32) as u32;
            slots[low as usize].other = slots[high as usize].target;
            let rest = &mut self.scaled[high as usize];
            *rest -= 1.0 - share;
            if *rest < 1.0 {
                self.large.pop();
                self.small.push(high);
            }
        }
        // What rounding left over fills its slot.
        for &index in self.small.iter().chain(&self.large) {
            let slot = &mut slots[index as usize];
            (slot.keep, slot.other) = (u32::MAX, slot.target);
        }
    }
}

const TWO_32: f64 = 4_294_967_296.0;

/// The probability of each target of a row, from its slots.
#[cfg(test)]
pub fn probabilities(slots: &[Slot]) -> Vec<f64> {
    let position = |target| slots.iter().position(|slot| slot.target == target).expect("a target of the row");
    let mut sums = vec![0.0; slots.len()];
    for slot in slots {
        let own = f64::from(slot.keep) / TWO_32;
        sums[position(slot.target)] += own / slots.len() as f64;
        sums[position(slot.other)] += (1.0 - own) / slots.len() as f64;
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_have_the_probabilities_of_the_weights(weights in prop::collection::vec(1e-3f32..1e3, 1..60)) {
            let mut slots: Vec<Slot> =
                (0..weights.len() as u32).map(|target| Slot { target, ..Slot::default() }).collect();
            Scratch::default().fill(&mut slots, weights.iter().map(|&weight| f64::from(weight)));
            let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            for (got, &weight) in probabilities(&slots).iter().zip(&weights) {
                prop_assert!((got - f64::from(weight) / total).abs() < 1e-8);
            }
        }
    }
}
