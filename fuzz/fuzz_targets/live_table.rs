//! libFuzzer on `fuzz::live::table`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::live::table(bytes));
