"""What tests and benchmarks share: networks, processes, browsers, cases for ns-3, transactions, claims."""
