//! libFuzzer on `fuzz::broadcast::messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::broadcast::messages(bytes));
