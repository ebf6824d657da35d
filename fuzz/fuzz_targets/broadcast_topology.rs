//! libFuzzer on `fuzz::broadcast::topology`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::broadcast::topology(bytes));
