//! libFuzzer on `fuzz::units::text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::units::text(bytes));
