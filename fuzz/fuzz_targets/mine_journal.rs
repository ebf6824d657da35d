//! libFuzzer on `fuzz::mine::journal`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::mine::journal(bytes));
