"""Random walks in memory: steps a second of processor time, beside libraries that do the same."""
