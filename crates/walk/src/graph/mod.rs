//! Graphs in compressed rows.
