"""What tests and benchmarks share: networks, processes, cases for ns-3, transactions, claims of a study."""
