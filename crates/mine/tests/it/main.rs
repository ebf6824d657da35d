//! Large itemsets and rules, against brute force.

mod against_all_subsets;
mod quest;
mod rules;
mod shelf;
mod sparse;
mod text;
