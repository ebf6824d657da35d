//! libFuzzer on `fuzz::emu::console`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::emu::console(bytes));
