//! libFuzzer on `fuzz::traffic::size_distribution`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::traffic::size_distribution(bytes));
