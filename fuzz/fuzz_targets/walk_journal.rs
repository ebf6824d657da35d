//! libFuzzer on `fuzz::walk::journal`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::walk::journal(bytes));
