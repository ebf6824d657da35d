//! libFuzzer on `fuzz::walk::graph`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::walk::graph(bytes));
