//! How a walker moves.
