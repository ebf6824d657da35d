//! libFuzzer on `fuzz::live::sealed`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::live::sealed(bytes));
