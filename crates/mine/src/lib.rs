//! Association rules from transactions: Apriori in memory and, by a hash of candidates, over a cluster (document 001).
//!
//! [`items`] are what transactions hold and itemsets consist of; [`transactions`] keeps them in memory. Nothing here
//! reads a file, a clock or a socket.

pub mod items;
pub mod transactions;
