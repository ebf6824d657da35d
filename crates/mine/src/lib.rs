//! Association rules from transactions: Apriori in memory and, by a hash of candidates, over a cluster
//! (document 001).
//!
//! [`items`] are what transactions hold and itemsets consist of; [`transactions`] keeps them in memory, in
//! [`block`]s, or on a [`shelf`] where there is no room; [`mod@read`] takes them from text and [`quest`]
//! makes them up. A pass makes [`candidate`]s and [`count`]s them; [`single`] puts the passes together on one
//! node, where [`sparse`] searches sparse transactions depth-first. [`rules`] and [`condense`] are what is
//! made of large itemsets; a [`journal`] has finished passes as bytes. Nothing here reads a file, a clock or
//! a socket.
//!
//! ```
//! use mine::{progress::Progress, single, transactions::Transactions};
//!
//! let mut baskets = Transactions::default();
//! [&[1, 2, 3][..], &[1, 2], &[2, 3], &[1, 2]].map(|basket| baskets.push(basket));
//! let settings = single::Settings { minimum: 3, longest: None, memory: 1 << 20, threads: 1 };
//! let (levels, _) = single::mine(baskets, &settings, &Progress::default()).expect("nobody stops it");
//! // Three baskets hold 1, all four hold 2, and three hold both.
//! assert_eq!(levels.iter().map(|level| level.len()).collect::<Vec<_>>(), [2, 1]);
//! ```

pub mod begun;
pub mod block;
pub mod candidate;
pub mod codes;
pub mod condense;
pub mod count;
pub mod items;
pub mod journal;
pub mod node;
pub mod progress;
pub mod quest;
pub mod read;
pub mod rules;
pub mod shelf;
pub mod single;
pub mod sparse;
pub mod support;
pub mod table;
pub mod transactions;
pub mod work;

#[cfg(test)]
mod tests;
