//! libFuzzer on `fuzz::scenario::spec`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::scenario::spec(bytes));
