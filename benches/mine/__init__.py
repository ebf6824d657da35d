"""Mining on one node: processor time, wall time and peak memory, beside programs that do the same."""
