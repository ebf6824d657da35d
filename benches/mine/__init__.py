"""Mining on one node: processor time, wall time and peak memory, compared with other programs."""
