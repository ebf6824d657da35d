//! libFuzzer on `fuzz::traffic::coflow_trace`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::traffic::coflow_trace(bytes));
