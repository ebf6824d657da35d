"""What tests and benchmarks share: networks of real hosts, cases for ns-3 and its driver, transactions."""
