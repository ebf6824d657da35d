//! libFuzzer on `fuzz::rpc::messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::rpc::messages(bytes));
