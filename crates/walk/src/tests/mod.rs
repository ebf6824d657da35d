//! Servers among themselves, over a network that loses, doubles and delays; and what they leave for after a
//! crash.

mod journal;
mod servers;
