//! Servers among themselves, over a network that loses, doubles and delays.

mod servers;
mod world;
