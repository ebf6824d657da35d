//! Connections over a path that loses, marks, repeats and reorders.

mod ecn;
mod hostile;
mod rfc;
mod support;
mod transfer;
