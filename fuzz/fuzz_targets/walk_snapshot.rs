//! libFuzzer on `fuzz::walk::snapshot`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::walk::snapshot(bytes));
