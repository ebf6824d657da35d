//! libFuzzer on `fuzz::walk::owners`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::walk::owners(bytes));
