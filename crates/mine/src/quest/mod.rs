//! The synthetic transactions of Quest: R. Agrawal and R. Srikant, "Fast algorithms for mining association
//! rules", VLDB 1994, section 2.4.3 ("Generation of synthetic data"); where the paper leaves things open, as
//! IBM's program of the same authors does it, on which the document's data was made.
//!
//! People buy sets of items together: there is a pool of such patterns (`patterns`), and a transaction is
//! some of them, drawn by weight, none of them quite whole (`basket`). Transactions come in blocks; a block
//! depends on the seed and its number only, so blocks may be made anywhere and in any order.

mod basket;
mod patterns;

use crate::items::Item;
use basket::Basket;
use patterns::Pool;
use process::rng::stream;
use rand_distr::{Distribution, Poisson};
use serde::{Deserialize, Serialize};
use units::Problem;

/// Transactions of a block, except for the last.
pub const BLOCK: u64 = 8192;

/// What the data is to look like; the letters are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quest {
    /// |D|: transactions.
    pub count: u64,
    /// |T|: mean items of a transaction.
    pub length: f64,
    /// |I|: mean items of a pattern.
    pub pattern: f64,
    /// |L|: patterns.
    pub patterns: u32,
    /// N: items.
    pub items: u32,
    /// Mean share of a pattern's items that are also the previous one's.
    pub correlation: f64,
    /// Mean probability that a pattern loses no more items when it is put into a transaction; one less the
    /// paper's corruption level.
    pub confidence: f64,
    /// Standard deviation of that probability over patterns.
    pub deviation: f64,
}

impl Quest {
    fn check(&self) -> Result<(), Problem> {
        let unit = 0.0..=1.0;
        let mean = 1.0..=1000.0;
        let checks = [
            ("count", self.count > 0, "at least 1"),
            ("length", mean.contains(&self.length), "1 to 1000"),
            ("pattern", mean.contains(&self.pattern), "1 to 1000"),
            ("patterns", (1..=MOST).contains(&self.patterns), "1 to 10000000"),
            ("items", (1..=MOST).contains(&self.items), "1 to 10000000"),
            ("correlation", unit.contains(&self.correlation), "0 to 1"),
            ("confidence", self.confidence > 0.0 && self.confidence <= 1.0, "above 0 and at most 1"),
            ("deviation", unit.contains(&self.deviation), "0 to 1"),
        ];
        match checks.into_iter().find(|(_, good, _)| !good) {
            Some((field, _, allowed)) => Err(Problem::new(field, format_args!("{allowed} is allowed"))),
            None => Ok(()),
        }
    }
}

const MOST: u32 = 10_000_000;

/// Makes the transactions of a [`Quest`].
#[derive(Clone, Debug)]
pub struct Generator {
    quest: Quest,
    seed: u64,
    pool: Pool,
    length: Option<Poisson<f64>>,
}

impl Generator {
    /// Draws the patterns.
    ///
    /// # Errors
    /// When a field is out of its range.
    pub fn new(quest: Quest, seed: u64) -> Result<Self, Problem> {
        quest.check()?;
        let pool = Pool::draw(&quest, &mut stream(seed, "quest patterns"));
        Ok(Self { quest, seed, pool, length: above_one(quest.length) })
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.quest.count.div_ceil(BLOCK)
    }

    /// Calls `take` with each transaction of a block; their items ascend.
    pub fn block(&self, number: u64, mut take: impl FnMut(&[Item])) {
        let start = number.saturating_mul(BLOCK);
        let mut rng = stream(self.seed, &format!("quest block {number}"));
        let mut basket = Basket::new(&self.pool);
        for _ in start..self.quest.count.min(start.saturating_add(BLOCK)) {
            take(basket.fill(&mut rng, self.length.as_ref()));
        }
    }

    /// Appends a block as text: a transaction a line.
    pub fn text(&self, number: u64, text: &mut Vec<u8>) {
        self.block(number, |items| {
            for item in items {
                decimal(*item, text);
                text.push(b' ');
            }
            *text.last_mut().expect("a transaction has items") = b'\n';
        });
    }
}

/// How much more than one: nothing for a mean of 1.
fn above_one(mean: f64) -> Option<Poisson<f64>> {
    (mean > 1.0).then(|| Poisson::new(mean - 1.0).expect("a positive mean"))
}

/// A length: 1 + Poisson.
fn length(more: Option<&Poisson<f64>>, rng: &mut rand_pcg::Pcg64) -> usize {
    1 + more.map_or(0, |more| more.sample(rng) as usize)
}

fn decimal(mut number: u32, text: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}
