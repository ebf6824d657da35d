//! libFuzzer on `fuzz::shuffle::messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::shuffle::messages(bytes));
