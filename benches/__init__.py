"""The benchmarks: the same work in this simulator and in its peers."""
