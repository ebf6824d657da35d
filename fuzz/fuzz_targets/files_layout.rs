//! libFuzzer on `fuzz::files::layout`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::files::layout(bytes));
