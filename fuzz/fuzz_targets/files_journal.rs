//! libFuzzer on `fuzz::files::journal`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::files::journal(bytes));
