//! libFuzzer on `fuzz::emu::queues`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::emu::queues(bytes));
