//! Hosts that fail.
