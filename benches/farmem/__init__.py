"""The cost of remote memory beyond the wait for it."""
