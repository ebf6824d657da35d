//! libFuzzer on `fuzz::emu::offload`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::emu::offload(bytes));
