//! libFuzzer on `fuzz::broadcast::plan`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::broadcast::plan(bytes));
