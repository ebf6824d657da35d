//! libFuzzer on `fuzz::walk::server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::walk::server(bytes));
