//! libFuzzer on `fuzz::emu::packet`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::emu::packet(bytes));
