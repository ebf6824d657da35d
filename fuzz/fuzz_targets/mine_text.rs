//! libFuzzer on `fuzz::mine::text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::mine::text(bytes));
