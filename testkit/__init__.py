"""What tests and benchmarks share: real hosts' networks, cases for ns-3, transactions, claims of a study."""
