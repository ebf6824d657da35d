//! libFuzzer on `fuzz::record::table`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::record::table(bytes));
