//! libFuzzer on `fuzz::live::hello`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::live::hello(bytes));
