//! Second-order walks: node2vec's search bias. From `v`, reached from `t`, a neighbour `x` has the weight of
//! its arc times 1/p where x = t, times 1 where x is next to t, times 1/q elsewhere.
//!
//! A. Grover and J. Leskovec, "node2vec: scalable feature learning for networks", KDD 2016, section 3.2.
//! "Next to" is an arc x → t, as in the authors' program; it matters in directed graphs only. Drawn by
//! rejection: K. Yang et al., "KnightKing: a fast distributed graph random walk engine", SOSP 2019, section
//! 4: a neighbour is drawn by its arc's weight and kept with the bias over the largest bias; most draws
//! decide before it matters which nodes are neighbours.

/// What is known of a neighbour that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The walker goes there.
    Keep,
    /// Another is drawn.
    Reject,
    /// It depends on whether the neighbour is next to the node before.
    Ask,
}

/// node2vec's p and q as shares of 2^64 of the largest bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bias {
    back: u64,
    near: u64,
    far: u64,
}

impl Bias {
    /// `p` and `q` are positive and finite.
    pub(crate) fn new(p: f64, q: f64) -> Self {
        let (back, far) = (1.0 / p, 1.0 / q);
        let largest = back.max(far).max(1.0);
        // A share of all of them saturates.
        let share = |bias: f64| (bias / largest * 18_446_744_073_709_551_616.0) as u64;
        Self { back: share(back), near: share(1.0), far: share(far) }
    }

    /// Decides about a draw of `candidate` with 64 random bits, of which the top 40 count.
    #[inline(always)]
    pub fn judge(&self, candidate: u32, before: u32, random: u64) -> Verdict {
        if candidate == before {
            return if random < self.back { Verdict::Keep } else { Verdict::Reject };
        }
        if random < self.near.min(self.far) {
            Verdict::Keep
        } else if random >= self.near.max(self.far) {
            Verdict::Reject
        } else {
            Verdict::Ask
        }
    }

    /// The answer to [`Verdict::Ask`]: whether a neighbour is kept that is next to the node before, or is
    /// not.
    #[inline(always)]
    pub fn keeps(&self, next_to: bool) -> bool {
        next_to == (self.near > self.far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of draws that keep a candidate, by even random bits.
    fn kept(bias: Bias, candidate: u32, next_to: bool) -> f64 {
        let draws = 4096u64;
        let keeps = |draw: u64| match bias.judge(candidate, 0, draw << 52) {
            Verdict::Keep => true,
            Verdict::Reject => false,
            Verdict::Ask => bias.keeps(next_to),
        };
        (0..draws).filter(|&draw| keeps(draw)).count() as f64 / draws as f64
    }

    #[test]
    fn shares_are_those_of_the_paper() {
        for (p, q) in [(2.0, 0.5), (0.25, 4.0), (1.0, 1.0), (4.0, 0.25), (0.5, 0.5), (3.0, 7.0)] {
            let bias = Bias::new(p, q);
            let largest = (1.0f64 / p).max(1.0 / q).max(1.0);
            for (candidate, next_to, weight) in [(0, false, 1.0 / p), (1, true, 1.0), (1, false, 1.0 / q)] {
                let share = kept(bias, candidate, next_to);
                assert!((share - weight / largest).abs() < 1e-3, "p {p}, q {q}: {share}");
            }
        }
    }

    #[test]
    fn without_a_bias_nobody_asks() {
        let bias = Bias::new(1.0, 1.0);
        assert!((0..64).all(|bit| bias.judge(1, 0, 1 << bit) == Verdict::Keep));
    }
}
